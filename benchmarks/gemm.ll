; f32 GEMM with a 6x16 register tile; M, N, K are arguments. Not a component: a module of typical size.
; ModuleID = "gemm"
target triple = "unknown-unknown-unknown"
target datalayout = ""

declare <8 x float> @"llvm.fma.v8f32"(<8 x float> %".1", <8 x float> %".2", <8 x float> %".3")

define void @"tile_1x16"(ptr %".1", i64 %".2", ptr %".3", ptr %".4", i64 %".5", i64 %".6", ptr %".7")
{
entry:
  %".9" = getelementptr float, ptr %".7", i64 0
  %".10" = load <8 x float>, ptr %".9", align 4
  %".11" = getelementptr float, ptr %".7", i64 8
  %".12" = load <8 x float>, ptr %".11", align 4
  %".13" = mul i64 %".2", 0
  %".14" = getelementptr float, ptr %".1", i64 %".13"
  br label %"loop"
loop:
  %".16" = phi  i64 [0, %"entry"], [%".33", %"loop"]
  %".17" = phi  <8 x float> [%".10", %"entry"], [%".31", %"loop"]
  %".18" = phi  <8 x float> [%".12", %"entry"], [%".32", %"loop"]
  %".19" = mul i64 %".16", 16
  %".20" = add i64 %".19", 0
  %".21" = getelementptr float, ptr %".3", i64 %".20"
  %".22" = load <8 x float>, ptr %".21", align 32
  %".23" = mul i64 %".16", 16
  %".24" = add i64 %".23", 8
  %".25" = getelementptr float, ptr %".3", i64 %".24"
  %".26" = load <8 x float>, ptr %".25", align 32
  %".27" = getelementptr float, ptr %".14", i64 %".16"
  %".28" = load float, ptr %".27", align 4
  %".29" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".28", i32 0
  %".30" = shufflevector <8 x float> %".29", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".31" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".30", <8 x float> %".22", <8 x float> %".17")
  %".32" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".30", <8 x float> %".26", <8 x float> %".18")
  %".33" = add i64 %".16", 1
  %".34" = icmp slt i64 %".33", %".6"
  br i1 %".34", label %"loop", label %"done"
done:
  %".36" = mul i64 %".5", 0
  %".37" = add i64 %".36", 0
  %".38" = getelementptr float, ptr %".4", i64 %".37"
  store <8 x float> %".31", ptr %".38", align 4
  %".40" = mul i64 %".5", 0
  %".41" = add i64 %".40", 8
  %".42" = getelementptr float, ptr %".4", i64 %".41"
  store <8 x float> %".32", ptr %".42", align 4
  ret void
}

define void @"tile_2x16"(ptr %".1", i64 %".2", ptr %".3", ptr %".4", i64 %".5", i64 %".6", ptr %".7")
{
entry:
  %".9" = getelementptr float, ptr %".7", i64 0
  %".10" = load <8 x float>, ptr %".9", align 4
  %".11" = getelementptr float, ptr %".7", i64 8
  %".12" = load <8 x float>, ptr %".11", align 4
  %".13" = mul i64 %".2", 0
  %".14" = getelementptr float, ptr %".1", i64 %".13"
  %".15" = mul i64 %".2", 1
  %".16" = getelementptr float, ptr %".1", i64 %".15"
  br label %"loop"
loop:
  %".18" = phi  i64 [0, %"entry"], [%".43", %"loop"]
  %".19" = phi  <8 x float> [%".10", %"entry"], [%".35", %"loop"]
  %".20" = phi  <8 x float> [%".12", %"entry"], [%".36", %"loop"]
  %".21" = phi  <8 x float> [%".10", %"entry"], [%".41", %"loop"]
  %".22" = phi  <8 x float> [%".12", %"entry"], [%".42", %"loop"]
  %".23" = mul i64 %".18", 16
  %".24" = add i64 %".23", 0
  %".25" = getelementptr float, ptr %".3", i64 %".24"
  %".26" = load <8 x float>, ptr %".25", align 32
  %".27" = mul i64 %".18", 16
  %".28" = add i64 %".27", 8
  %".29" = getelementptr float, ptr %".3", i64 %".28"
  %".30" = load <8 x float>, ptr %".29", align 32
  %".31" = getelementptr float, ptr %".14", i64 %".18"
  %".32" = load float, ptr %".31", align 4
  %".33" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".32", i32 0
  %".34" = shufflevector <8 x float> %".33", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".35" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".34", <8 x float> %".26", <8 x float> %".19")
  %".36" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".34", <8 x float> %".30", <8 x float> %".20")
  %".37" = getelementptr float, ptr %".16", i64 %".18"
  %".38" = load float, ptr %".37", align 4
  %".39" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".38", i32 0
  %".40" = shufflevector <8 x float> %".39", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".41" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".40", <8 x float> %".26", <8 x float> %".21")
  %".42" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".40", <8 x float> %".30", <8 x float> %".22")
  %".43" = add i64 %".18", 1
  %".44" = icmp slt i64 %".43", %".6"
  br i1 %".44", label %"loop", label %"done"
done:
  %".46" = mul i64 %".5", 0
  %".47" = add i64 %".46", 0
  %".48" = getelementptr float, ptr %".4", i64 %".47"
  store <8 x float> %".35", ptr %".48", align 4
  %".50" = mul i64 %".5", 0
  %".51" = add i64 %".50", 8
  %".52" = getelementptr float, ptr %".4", i64 %".51"
  store <8 x float> %".36", ptr %".52", align 4
  %".54" = mul i64 %".5", 1
  %".55" = add i64 %".54", 0
  %".56" = getelementptr float, ptr %".4", i64 %".55"
  store <8 x float> %".41", ptr %".56", align 4
  %".58" = mul i64 %".5", 1
  %".59" = add i64 %".58", 8
  %".60" = getelementptr float, ptr %".4", i64 %".59"
  store <8 x float> %".42", ptr %".60", align 4
  ret void
}

define void @"tile_3x16"(ptr %".1", i64 %".2", ptr %".3", ptr %".4", i64 %".5", i64 %".6", ptr %".7")
{
entry:
  %".9" = getelementptr float, ptr %".7", i64 0
  %".10" = load <8 x float>, ptr %".9", align 4
  %".11" = getelementptr float, ptr %".7", i64 8
  %".12" = load <8 x float>, ptr %".11", align 4
  %".13" = mul i64 %".2", 0
  %".14" = getelementptr float, ptr %".1", i64 %".13"
  %".15" = mul i64 %".2", 1
  %".16" = getelementptr float, ptr %".1", i64 %".15"
  %".17" = mul i64 %".2", 2
  %".18" = getelementptr float, ptr %".1", i64 %".17"
  br label %"loop"
loop:
  %".20" = phi  i64 [0, %"entry"], [%".53", %"loop"]
  %".21" = phi  <8 x float> [%".10", %"entry"], [%".39", %"loop"]
  %".22" = phi  <8 x float> [%".12", %"entry"], [%".40", %"loop"]
  %".23" = phi  <8 x float> [%".10", %"entry"], [%".45", %"loop"]
  %".24" = phi  <8 x float> [%".12", %"entry"], [%".46", %"loop"]
  %".25" = phi  <8 x float> [%".10", %"entry"], [%".51", %"loop"]
  %".26" = phi  <8 x float> [%".12", %"entry"], [%".52", %"loop"]
  %".27" = mul i64 %".20", 16
  %".28" = add i64 %".27", 0
  %".29" = getelementptr float, ptr %".3", i64 %".28"
  %".30" = load <8 x float>, ptr %".29", align 32
  %".31" = mul i64 %".20", 16
  %".32" = add i64 %".31", 8
  %".33" = getelementptr float, ptr %".3", i64 %".32"
  %".34" = load <8 x float>, ptr %".33", align 32
  %".35" = getelementptr float, ptr %".14", i64 %".20"
  %".36" = load float, ptr %".35", align 4
  %".37" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".36", i32 0
  %".38" = shufflevector <8 x float> %".37", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".39" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".38", <8 x float> %".30", <8 x float> %".21")
  %".40" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".38", <8 x float> %".34", <8 x float> %".22")
  %".41" = getelementptr float, ptr %".16", i64 %".20"
  %".42" = load float, ptr %".41", align 4
  %".43" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".42", i32 0
  %".44" = shufflevector <8 x float> %".43", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".45" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".44", <8 x float> %".30", <8 x float> %".23")
  %".46" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".44", <8 x float> %".34", <8 x float> %".24")
  %".47" = getelementptr float, ptr %".18", i64 %".20"
  %".48" = load float, ptr %".47", align 4
  %".49" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".48", i32 0
  %".50" = shufflevector <8 x float> %".49", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".51" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".50", <8 x float> %".30", <8 x float> %".25")
  %".52" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".50", <8 x float> %".34", <8 x float> %".26")
  %".53" = add i64 %".20", 1
  %".54" = icmp slt i64 %".53", %".6"
  br i1 %".54", label %"loop", label %"done"
done:
  %".56" = mul i64 %".5", 0
  %".57" = add i64 %".56", 0
  %".58" = getelementptr float, ptr %".4", i64 %".57"
  store <8 x float> %".39", ptr %".58", align 4
  %".60" = mul i64 %".5", 0
  %".61" = add i64 %".60", 8
  %".62" = getelementptr float, ptr %".4", i64 %".61"
  store <8 x float> %".40", ptr %".62", align 4
  %".64" = mul i64 %".5", 1
  %".65" = add i64 %".64", 0
  %".66" = getelementptr float, ptr %".4", i64 %".65"
  store <8 x float> %".45", ptr %".66", align 4
  %".68" = mul i64 %".5", 1
  %".69" = add i64 %".68", 8
  %".70" = getelementptr float, ptr %".4", i64 %".69"
  store <8 x float> %".46", ptr %".70", align 4
  %".72" = mul i64 %".5", 2
  %".73" = add i64 %".72", 0
  %".74" = getelementptr float, ptr %".4", i64 %".73"
  store <8 x float> %".51", ptr %".74", align 4
  %".76" = mul i64 %".5", 2
  %".77" = add i64 %".76", 8
  %".78" = getelementptr float, ptr %".4", i64 %".77"
  store <8 x float> %".52", ptr %".78", align 4
  ret void
}

define void @"tile_4x16"(ptr %".1", i64 %".2", ptr %".3", ptr %".4", i64 %".5", i64 %".6", ptr %".7")
{
entry:
  %".9" = getelementptr float, ptr %".7", i64 0
  %".10" = load <8 x float>, ptr %".9", align 4
  %".11" = getelementptr float, ptr %".7", i64 8
  %".12" = load <8 x float>, ptr %".11", align 4
  %".13" = mul i64 %".2", 0
  %".14" = getelementptr float, ptr %".1", i64 %".13"
  %".15" = mul i64 %".2", 1
  %".16" = getelementptr float, ptr %".1", i64 %".15"
  %".17" = mul i64 %".2", 2
  %".18" = getelementptr float, ptr %".1", i64 %".17"
  %".19" = mul i64 %".2", 3
  %".20" = getelementptr float, ptr %".1", i64 %".19"
  br label %"loop"
loop:
  %".22" = phi  i64 [0, %"entry"], [%".63", %"loop"]
  %".23" = phi  <8 x float> [%".10", %"entry"], [%".43", %"loop"]
  %".24" = phi  <8 x float> [%".12", %"entry"], [%".44", %"loop"]
  %".25" = phi  <8 x float> [%".10", %"entry"], [%".49", %"loop"]
  %".26" = phi  <8 x float> [%".12", %"entry"], [%".50", %"loop"]
  %".27" = phi  <8 x float> [%".10", %"entry"], [%".55", %"loop"]
  %".28" = phi  <8 x float> [%".12", %"entry"], [%".56", %"loop"]
  %".29" = phi  <8 x float> [%".10", %"entry"], [%".61", %"loop"]
  %".30" = phi  <8 x float> [%".12", %"entry"], [%".62", %"loop"]
  %".31" = mul i64 %".22", 16
  %".32" = add i64 %".31", 0
  %".33" = getelementptr float, ptr %".3", i64 %".32"
  %".34" = load <8 x float>, ptr %".33", align 32
  %".35" = mul i64 %".22", 16
  %".36" = add i64 %".35", 8
  %".37" = getelementptr float, ptr %".3", i64 %".36"
  %".38" = load <8 x float>, ptr %".37", align 32
  %".39" = getelementptr float, ptr %".14", i64 %".22"
  %".40" = load float, ptr %".39", align 4
  %".41" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".40", i32 0
  %".42" = shufflevector <8 x float> %".41", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".43" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".42", <8 x float> %".34", <8 x float> %".23")
  %".44" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".42", <8 x float> %".38", <8 x float> %".24")
  %".45" = getelementptr float, ptr %".16", i64 %".22"
  %".46" = load float, ptr %".45", align 4
  %".47" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".46", i32 0
  %".48" = shufflevector <8 x float> %".47", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".49" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".48", <8 x float> %".34", <8 x float> %".25")
  %".50" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".48", <8 x float> %".38", <8 x float> %".26")
  %".51" = getelementptr float, ptr %".18", i64 %".22"
  %".52" = load float, ptr %".51", align 4
  %".53" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".52", i32 0
  %".54" = shufflevector <8 x float> %".53", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".55" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".54", <8 x float> %".34", <8 x float> %".27")
  %".56" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".54", <8 x float> %".38", <8 x float> %".28")
  %".57" = getelementptr float, ptr %".20", i64 %".22"
  %".58" = load float, ptr %".57", align 4
  %".59" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".58", i32 0
  %".60" = shufflevector <8 x float> %".59", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".61" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".60", <8 x float> %".34", <8 x float> %".29")
  %".62" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".60", <8 x float> %".38", <8 x float> %".30")
  %".63" = add i64 %".22", 1
  %".64" = icmp slt i64 %".63", %".6"
  br i1 %".64", label %"loop", label %"done"
done:
  %".66" = mul i64 %".5", 0
  %".67" = add i64 %".66", 0
  %".68" = getelementptr float, ptr %".4", i64 %".67"
  store <8 x float> %".43", ptr %".68", align 4
  %".70" = mul i64 %".5", 0
  %".71" = add i64 %".70", 8
  %".72" = getelementptr float, ptr %".4", i64 %".71"
  store <8 x float> %".44", ptr %".72", align 4
  %".74" = mul i64 %".5", 1
  %".75" = add i64 %".74", 0
  %".76" = getelementptr float, ptr %".4", i64 %".75"
  store <8 x float> %".49", ptr %".76", align 4
  %".78" = mul i64 %".5", 1
  %".79" = add i64 %".78", 8
  %".80" = getelementptr float, ptr %".4", i64 %".79"
  store <8 x float> %".50", ptr %".80", align 4
  %".82" = mul i64 %".5", 2
  %".83" = add i64 %".82", 0
  %".84" = getelementptr float, ptr %".4", i64 %".83"
  store <8 x float> %".55", ptr %".84", align 4
  %".86" = mul i64 %".5", 2
  %".87" = add i64 %".86", 8
  %".88" = getelementptr float, ptr %".4", i64 %".87"
  store <8 x float> %".56", ptr %".88", align 4
  %".90" = mul i64 %".5", 3
  %".91" = add i64 %".90", 0
  %".92" = getelementptr float, ptr %".4", i64 %".91"
  store <8 x float> %".61", ptr %".92", align 4
  %".94" = mul i64 %".5", 3
  %".95" = add i64 %".94", 8
  %".96" = getelementptr float, ptr %".4", i64 %".95"
  store <8 x float> %".62", ptr %".96", align 4
  ret void
}

define void @"tile_5x16"(ptr %".1", i64 %".2", ptr %".3", ptr %".4", i64 %".5", i64 %".6", ptr %".7")
{
entry:
  %".9" = getelementptr float, ptr %".7", i64 0
  %".10" = load <8 x float>, ptr %".9", align 4
  %".11" = getelementptr float, ptr %".7", i64 8
  %".12" = load <8 x float>, ptr %".11", align 4
  %".13" = mul i64 %".2", 0
  %".14" = getelementptr float, ptr %".1", i64 %".13"
  %".15" = mul i64 %".2", 1
  %".16" = getelementptr float, ptr %".1", i64 %".15"
  %".17" = mul i64 %".2", 2
  %".18" = getelementptr float, ptr %".1", i64 %".17"
  %".19" = mul i64 %".2", 3
  %".20" = getelementptr float, ptr %".1", i64 %".19"
  %".21" = mul i64 %".2", 4
  %".22" = getelementptr float, ptr %".1", i64 %".21"
  br label %"loop"
loop:
  %".24" = phi  i64 [0, %"entry"], [%".73", %"loop"]
  %".25" = phi  <8 x float> [%".10", %"entry"], [%".47", %"loop"]
  %".26" = phi  <8 x float> [%".12", %"entry"], [%".48", %"loop"]
  %".27" = phi  <8 x float> [%".10", %"entry"], [%".53", %"loop"]
  %".28" = phi  <8 x float> [%".12", %"entry"], [%".54", %"loop"]
  %".29" = phi  <8 x float> [%".10", %"entry"], [%".59", %"loop"]
  %".30" = phi  <8 x float> [%".12", %"entry"], [%".60", %"loop"]
  %".31" = phi  <8 x float> [%".10", %"entry"], [%".65", %"loop"]
  %".32" = phi  <8 x float> [%".12", %"entry"], [%".66", %"loop"]
  %".33" = phi  <8 x float> [%".10", %"entry"], [%".71", %"loop"]
  %".34" = phi  <8 x float> [%".12", %"entry"], [%".72", %"loop"]
  %".35" = mul i64 %".24", 16
  %".36" = add i64 %".35", 0
  %".37" = getelementptr float, ptr %".3", i64 %".36"
  %".38" = load <8 x float>, ptr %".37", align 32
  %".39" = mul i64 %".24", 16
  %".40" = add i64 %".39", 8
  %".41" = getelementptr float, ptr %".3", i64 %".40"
  %".42" = load <8 x float>, ptr %".41", align 32
  %".43" = getelementptr float, ptr %".14", i64 %".24"
  %".44" = load float, ptr %".43", align 4
  %".45" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".44", i32 0
  %".46" = shufflevector <8 x float> %".45", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".47" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".46", <8 x float> %".38", <8 x float> %".25")
  %".48" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".46", <8 x float> %".42", <8 x float> %".26")
  %".49" = getelementptr float, ptr %".16", i64 %".24"
  %".50" = load float, ptr %".49", align 4
  %".51" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".50", i32 0
  %".52" = shufflevector <8 x float> %".51", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".53" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".52", <8 x float> %".38", <8 x float> %".27")
  %".54" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".52", <8 x float> %".42", <8 x float> %".28")
  %".55" = getelementptr float, ptr %".18", i64 %".24"
  %".56" = load float, ptr %".55", align 4
  %".57" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".56", i32 0
  %".58" = shufflevector <8 x float> %".57", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".59" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".58", <8 x float> %".38", <8 x float> %".29")
  %".60" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".58", <8 x float> %".42", <8 x float> %".30")
  %".61" = getelementptr float, ptr %".20", i64 %".24"
  %".62" = load float, ptr %".61", align 4
  %".63" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".62", i32 0
  %".64" = shufflevector <8 x float> %".63", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".65" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".64", <8 x float> %".38", <8 x float> %".31")
  %".66" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".64", <8 x float> %".42", <8 x float> %".32")
  %".67" = getelementptr float, ptr %".22", i64 %".24"
  %".68" = load float, ptr %".67", align 4
  %".69" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".68", i32 0
  %".70" = shufflevector <8 x float> %".69", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".71" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".70", <8 x float> %".38", <8 x float> %".33")
  %".72" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".70", <8 x float> %".42", <8 x float> %".34")
  %".73" = add i64 %".24", 1
  %".74" = icmp slt i64 %".73", %".6"
  br i1 %".74", label %"loop", label %"done"
done:
  %".76" = mul i64 %".5", 0
  %".77" = add i64 %".76", 0
  %".78" = getelementptr float, ptr %".4", i64 %".77"
  store <8 x float> %".47", ptr %".78", align 4
  %".80" = mul i64 %".5", 0
  %".81" = add i64 %".80", 8
  %".82" = getelementptr float, ptr %".4", i64 %".81"
  store <8 x float> %".48", ptr %".82", align 4
  %".84" = mul i64 %".5", 1
  %".85" = add i64 %".84", 0
  %".86" = getelementptr float, ptr %".4", i64 %".85"
  store <8 x float> %".53", ptr %".86", align 4
  %".88" = mul i64 %".5", 1
  %".89" = add i64 %".88", 8
  %".90" = getelementptr float, ptr %".4", i64 %".89"
  store <8 x float> %".54", ptr %".90", align 4
  %".92" = mul i64 %".5", 2
  %".93" = add i64 %".92", 0
  %".94" = getelementptr float, ptr %".4", i64 %".93"
  store <8 x float> %".59", ptr %".94", align 4
  %".96" = mul i64 %".5", 2
  %".97" = add i64 %".96", 8
  %".98" = getelementptr float, ptr %".4", i64 %".97"
  store <8 x float> %".60", ptr %".98", align 4
  %".100" = mul i64 %".5", 3
  %".101" = add i64 %".100", 0
  %".102" = getelementptr float, ptr %".4", i64 %".101"
  store <8 x float> %".65", ptr %".102", align 4
  %".104" = mul i64 %".5", 3
  %".105" = add i64 %".104", 8
  %".106" = getelementptr float, ptr %".4", i64 %".105"
  store <8 x float> %".66", ptr %".106", align 4
  %".108" = mul i64 %".5", 4
  %".109" = add i64 %".108", 0
  %".110" = getelementptr float, ptr %".4", i64 %".109"
  store <8 x float> %".71", ptr %".110", align 4
  %".112" = mul i64 %".5", 4
  %".113" = add i64 %".112", 8
  %".114" = getelementptr float, ptr %".4", i64 %".113"
  store <8 x float> %".72", ptr %".114", align 4
  ret void
}

define void @"tile_6x16"(ptr %".1", i64 %".2", ptr %".3", ptr %".4", i64 %".5", i64 %".6", ptr %".7")
{
entry:
  %".9" = getelementptr float, ptr %".7", i64 0
  %".10" = load <8 x float>, ptr %".9", align 4
  %".11" = getelementptr float, ptr %".7", i64 8
  %".12" = load <8 x float>, ptr %".11", align 4
  %".13" = mul i64 %".2", 0
  %".14" = getelementptr float, ptr %".1", i64 %".13"
  %".15" = mul i64 %".2", 1
  %".16" = getelementptr float, ptr %".1", i64 %".15"
  %".17" = mul i64 %".2", 2
  %".18" = getelementptr float, ptr %".1", i64 %".17"
  %".19" = mul i64 %".2", 3
  %".20" = getelementptr float, ptr %".1", i64 %".19"
  %".21" = mul i64 %".2", 4
  %".22" = getelementptr float, ptr %".1", i64 %".21"
  %".23" = mul i64 %".2", 5
  %".24" = getelementptr float, ptr %".1", i64 %".23"
  br label %"loop"
loop:
  %".26" = phi  i64 [0, %"entry"], [%".83", %"loop"]
  %".27" = phi  <8 x float> [%".10", %"entry"], [%".51", %"loop"]
  %".28" = phi  <8 x float> [%".12", %"entry"], [%".52", %"loop"]
  %".29" = phi  <8 x float> [%".10", %"entry"], [%".57", %"loop"]
  %".30" = phi  <8 x float> [%".12", %"entry"], [%".58", %"loop"]
  %".31" = phi  <8 x float> [%".10", %"entry"], [%".63", %"loop"]
  %".32" = phi  <8 x float> [%".12", %"entry"], [%".64", %"loop"]
  %".33" = phi  <8 x float> [%".10", %"entry"], [%".69", %"loop"]
  %".34" = phi  <8 x float> [%".12", %"entry"], [%".70", %"loop"]
  %".35" = phi  <8 x float> [%".10", %"entry"], [%".75", %"loop"]
  %".36" = phi  <8 x float> [%".12", %"entry"], [%".76", %"loop"]
  %".37" = phi  <8 x float> [%".10", %"entry"], [%".81", %"loop"]
  %".38" = phi  <8 x float> [%".12", %"entry"], [%".82", %"loop"]
  %".39" = mul i64 %".26", 16
  %".40" = add i64 %".39", 0
  %".41" = getelementptr float, ptr %".3", i64 %".40"
  %".42" = load <8 x float>, ptr %".41", align 32
  %".43" = mul i64 %".26", 16
  %".44" = add i64 %".43", 8
  %".45" = getelementptr float, ptr %".3", i64 %".44"
  %".46" = load <8 x float>, ptr %".45", align 32
  %".47" = getelementptr float, ptr %".14", i64 %".26"
  %".48" = load float, ptr %".47", align 4
  %".49" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".48", i32 0
  %".50" = shufflevector <8 x float> %".49", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".51" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".50", <8 x float> %".42", <8 x float> %".27")
  %".52" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".50", <8 x float> %".46", <8 x float> %".28")
  %".53" = getelementptr float, ptr %".16", i64 %".26"
  %".54" = load float, ptr %".53", align 4
  %".55" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".54", i32 0
  %".56" = shufflevector <8 x float> %".55", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".57" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".56", <8 x float> %".42", <8 x float> %".29")
  %".58" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".56", <8 x float> %".46", <8 x float> %".30")
  %".59" = getelementptr float, ptr %".18", i64 %".26"
  %".60" = load float, ptr %".59", align 4
  %".61" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".60", i32 0
  %".62" = shufflevector <8 x float> %".61", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".63" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".62", <8 x float> %".42", <8 x float> %".31")
  %".64" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".62", <8 x float> %".46", <8 x float> %".32")
  %".65" = getelementptr float, ptr %".20", i64 %".26"
  %".66" = load float, ptr %".65", align 4
  %".67" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".66", i32 0
  %".68" = shufflevector <8 x float> %".67", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".69" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".68", <8 x float> %".42", <8 x float> %".33")
  %".70" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".68", <8 x float> %".46", <8 x float> %".34")
  %".71" = getelementptr float, ptr %".22", i64 %".26"
  %".72" = load float, ptr %".71", align 4
  %".73" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".72", i32 0
  %".74" = shufflevector <8 x float> %".73", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".75" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".74", <8 x float> %".42", <8 x float> %".35")
  %".76" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".74", <8 x float> %".46", <8 x float> %".36")
  %".77" = getelementptr float, ptr %".24", i64 %".26"
  %".78" = load float, ptr %".77", align 4
  %".79" = insertelement <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, float %".78", i32 0
  %".80" = shufflevector <8 x float> %".79", <8 x float> <float undef, float undef, float undef, float undef, float undef, float undef, float undef, float undef>, <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".81" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".80", <8 x float> %".42", <8 x float> %".37")
  %".82" = call <8 x float> @"llvm.fma.v8f32"(<8 x float> %".80", <8 x float> %".46", <8 x float> %".38")
  %".83" = add i64 %".26", 1
  %".84" = icmp slt i64 %".83", %".6"
  br i1 %".84", label %"loop", label %"done"
done:
  %".86" = mul i64 %".5", 0
  %".87" = add i64 %".86", 0
  %".88" = getelementptr float, ptr %".4", i64 %".87"
  store <8 x float> %".51", ptr %".88", align 4
  %".90" = mul i64 %".5", 0
  %".91" = add i64 %".90", 8
  %".92" = getelementptr float, ptr %".4", i64 %".91"
  store <8 x float> %".52", ptr %".92", align 4
  %".94" = mul i64 %".5", 1
  %".95" = add i64 %".94", 0
  %".96" = getelementptr float, ptr %".4", i64 %".95"
  store <8 x float> %".57", ptr %".96", align 4
  %".98" = mul i64 %".5", 1
  %".99" = add i64 %".98", 8
  %".100" = getelementptr float, ptr %".4", i64 %".99"
  store <8 x float> %".58", ptr %".100", align 4
  %".102" = mul i64 %".5", 2
  %".103" = add i64 %".102", 0
  %".104" = getelementptr float, ptr %".4", i64 %".103"
  store <8 x float> %".63", ptr %".104", align 4
  %".106" = mul i64 %".5", 2
  %".107" = add i64 %".106", 8
  %".108" = getelementptr float, ptr %".4", i64 %".107"
  store <8 x float> %".64", ptr %".108", align 4
  %".110" = mul i64 %".5", 3
  %".111" = add i64 %".110", 0
  %".112" = getelementptr float, ptr %".4", i64 %".111"
  store <8 x float> %".69", ptr %".112", align 4
  %".114" = mul i64 %".5", 3
  %".115" = add i64 %".114", 8
  %".116" = getelementptr float, ptr %".4", i64 %".115"
  store <8 x float> %".70", ptr %".116", align 4
  %".118" = mul i64 %".5", 4
  %".119" = add i64 %".118", 0
  %".120" = getelementptr float, ptr %".4", i64 %".119"
  store <8 x float> %".75", ptr %".120", align 4
  %".122" = mul i64 %".5", 4
  %".123" = add i64 %".122", 8
  %".124" = getelementptr float, ptr %".4", i64 %".123"
  store <8 x float> %".76", ptr %".124", align 4
  %".126" = mul i64 %".5", 5
  %".127" = add i64 %".126", 0
  %".128" = getelementptr float, ptr %".4", i64 %".127"
  store <8 x float> %".81", ptr %".128", align 4
  %".130" = mul i64 %".5", 5
  %".131" = add i64 %".130", 8
  %".132" = getelementptr float, ptr %".4", i64 %".131"
  store <8 x float> %".82", ptr %".132", align 4
  ret void
}

define void @"gemm"(ptr %".1", i64 %".2", i64 %".3", ptr %".4", i64 %".5", ptr %".6", ptr %".7")
{
entry:
  br label %"cols"
cols:
  %".10" = phi  i64 [0, %"entry"], [%".64", %"next"]
  %".11" = mul i64 %".10", %".3"
  %".12" = getelementptr float, ptr %".4", i64 %".11"
  %".13" = getelementptr float, ptr %".7", i64 %".10"
  br label %"rows"
rows:
  %".15" = phi  i64 [0, %"cols"], [%".25", %"full"]
  %".16" = add i64 %".15", 6
  %".17" = icmp sle i64 %".16", %".2"
  br i1 %".17", label %"full", label %"tail"
full:
  %".19" = mul i64 %".15", %".3"
  %".20" = getelementptr float, ptr %".1", i64 %".19"
  %".21" = mul i64 %".15", %".5"
  %".22" = add i64 %".21", %".10"
  %".23" = getelementptr float, ptr %".6", i64 %".22"
  call void @"tile_6x16"(ptr %".20", i64 %".3", ptr %".12", ptr %".23", i64 %".5", i64 %".3", ptr %".13")
  %".25" = add i64 %".15", 6
  br label %"rows"
tail:
  %".27" = sub i64 %".2", %".15"
  switch i64 %".27", label %"next" [i64 1, label %"tail_1" i64 2, label %"tail_2" i64 3, label %"tail_3" i64 4, label %"tail_4" i64 5, label %"tail_5"]
next:
  %".64" = add i64 %".10", 16
  %".65" = icmp slt i64 %".64", %".5"
  br i1 %".65", label %"cols", label %"end"
end:
  ret void
tail_1:
  %".29" = mul i64 %".15", %".3"
  %".30" = getelementptr float, ptr %".1", i64 %".29"
  %".31" = mul i64 %".15", %".5"
  %".32" = add i64 %".31", %".10"
  %".33" = getelementptr float, ptr %".6", i64 %".32"
  call void @"tile_1x16"(ptr %".30", i64 %".3", ptr %".12", ptr %".33", i64 %".5", i64 %".3", ptr %".13")
  br label %"next"
tail_2:
  %".36" = mul i64 %".15", %".3"
  %".37" = getelementptr float, ptr %".1", i64 %".36"
  %".38" = mul i64 %".15", %".5"
  %".39" = add i64 %".38", %".10"
  %".40" = getelementptr float, ptr %".6", i64 %".39"
  call void @"tile_2x16"(ptr %".37", i64 %".3", ptr %".12", ptr %".40", i64 %".5", i64 %".3", ptr %".13")
  br label %"next"
tail_3:
  %".43" = mul i64 %".15", %".3"
  %".44" = getelementptr float, ptr %".1", i64 %".43"
  %".45" = mul i64 %".15", %".5"
  %".46" = add i64 %".45", %".10"
  %".47" = getelementptr float, ptr %".6", i64 %".46"
  call void @"tile_3x16"(ptr %".44", i64 %".3", ptr %".12", ptr %".47", i64 %".5", i64 %".3", ptr %".13")
  br label %"next"
tail_4:
  %".50" = mul i64 %".15", %".3"
  %".51" = getelementptr float, ptr %".1", i64 %".50"
  %".52" = mul i64 %".15", %".5"
  %".53" = add i64 %".52", %".10"
  %".54" = getelementptr float, ptr %".6", i64 %".53"
  call void @"tile_4x16"(ptr %".51", i64 %".3", ptr %".12", ptr %".54", i64 %".5", i64 %".3", ptr %".13")
  br label %"next"
tail_5:
  %".57" = mul i64 %".15", %".3"
  %".58" = getelementptr float, ptr %".1", i64 %".57"
  %".59" = mul i64 %".15", %".5"
  %".60" = add i64 %".59", %".10"
  %".61" = getelementptr float, ptr %".6", i64 %".60"
  call void @"tile_5x16"(ptr %".58", i64 %".3", ptr %".12", ptr %".61", i64 %".5", i64 %".3", ptr %".13")
  br label %"next"
}
