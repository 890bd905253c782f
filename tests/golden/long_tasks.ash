# RUN: fuse, single-kernels, long-tasks
axes { batch: 1..64   seq: 1.. }
graph model(x: f32[batch, seq], y: f32[batch, 64]) -> (f32[batch], i64[batch], f32[batch]) {
  %0 = exp(x)
  %1 = sum(%0) {axes=[1]}
  %2 = argmax(x) {axis=1}
  %3 = sum(y) {axes=[1]}
  return %1, %2, %3
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1.. }
graph model(x: f32[batch, seq], y: f32[batch, 64]) -> (f32[batch], i64[batch], f32[batch]) {
  %0 = kernel(x)
    body(a0: f32[batch, seq]) -> f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch] {
      %0 = exp(a0) : f32[batch, seq]
      %1 = part_reduce(%0) {combine=add, axes=[1], parts=min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), length=(seq - 1)//max(min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), 1) + 1, dtype=f32} : f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
      return %1
    } : f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
  %1 = kernel(x, %0)
    body(a0: f32[batch, seq], a1: f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]) -> f32[batch] {
      %0 = exp(a0) : f32[batch, seq]
      %1 = sum(%0) {axes=[1]} : f32[batch]
      %2 = sum(a1) {axes=[0]} : f32[batch]
      %3 = staged(%1, %2) {parts=min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1)} : f32[batch]
      return %3
    } : f32[batch]
  %2, %3 = kernel(x)
    body(a0: f32[batch, seq]) -> (f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch], i64[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]) {
      %0 = part_reduce(a0) {combine=maximum, axes=[1], parts=min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), length=(seq - 1)//max(min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), 1) + 1, dtype=f32} : f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
      %1 = part_index(a0, %0) {axis=1, parts=min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), length=(seq - 1)//max(min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), 1) + 1} : i64[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
      return %0, %1
    } : (f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch], i64[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch])
  %4 = kernel(x, %2, %3)
    body(a0: f32[batch, seq], a1: f32[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch], a2: i64[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]) -> i64[batch] {
      %0 = argmax(a0) {axis=1} : i64[batch]
      %1 = max(a1) {axes=[0], keepdims=true} : f32[1, batch]
      %2 = eq(a1, %1) : bool[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
      %3 = is_nan(a1) : bool[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
      %4 = logical_or(%2, %3) : bool[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
      %5 = constant() {value=i64 9223372036854775807} : i64[]
      %6 = select(%4, a2, %5) : i64[min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1), batch]
      %7 = min(%6) {axes=[0]} : i64[batch]
      %8 = staged(%0, %7) {parts=min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1))*min(max(0, min(seq, seq//32768, max(seq//16777216, 31//max(batch, 1) + 1)) - 1), 1)} : i64[batch]
      return %8
    } : i64[batch]
  %5 = kernel(y)
    body(a0: f32[batch, 64]) -> f32[batch] {
      %0 = sum(a0) {axes=[1]} : f32[batch]
      return %0
    } : f32[batch]
  return %1, %4, %5
}
