# RUN: print
graph found(x: bool[?, ?]) -> i64[?, 2] {
  %0 = nonzero(x)
  return %0
}
--------------------------------------------------------------------------------
graph found(x: bool[?0, ?1]) -> i64[?2, 2] {
  %0 = nonzero(x) late [?2 <= ?0*?1] : i64[?2, 2]
  return %0
}
