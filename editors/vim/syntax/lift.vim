" The Lift language. Copy editors/vim/* to ~/.vim.
if exists("b:current_syntax")
  finish
endif

syntax iskeyword @,48-57,_,'
syntax keyword liftDeclaration def tune type import
syntax keyword liftKeyword let in fun if then else
syntax keyword liftConstant true false inf nan
syntax keyword liftFunction abs acos add and anyLane arrayOf asScalar asVector asin at atan atan2 bitAnd bitNot bitOr
syntax keyword liftFunction bitXor cbrt ceil clz concat convert cos cosh div dot drop eq erf exp exp2 floor fma
syntax keyword liftFunction ge generate get gt id iterate iterateWhile join le log log10 log2 lt map mapGlb mapLcl mapSeq
syntax keyword liftFunction mapSeqUnroll mapWrg max min mod mul mulHigh ne neg not or pad padClamp padMirror
syntax keyword liftFunction padWrap popcount pow reduce reduceByIndex reduceByIndexGlb reduceByIndexLcl reduceLcl reduceSeq reduceSeqUnroll
syntax keyword liftFunction reorder reverse rotateBits
syntax keyword liftFunction round rsqrt scan scanExclusive scanExclusiveSeq scanSeq select shift shl shr sin
syntax keyword liftFunction sinh slide slideStrict splat split sqrt stride sub take tan tanh toGlobal toImage
syntax keyword liftFunction toLocal toPrivate transpose trunc tuple unstride unzip vectorize zip
syntax match liftType /\<\%(bool\|nat\|[iu]\%(8\|16\|32\|64\)\%(x\d\+\)\=\|\%(f16\|h16\|f32\|f64\)\%(x\d\+\)\=\)\>/
syntax match liftNumber /\<\d[0-9a-zA-Z_]*\%(\.\d[0-9a-zA-Z_]*\)\=\%([eE][+-]\d\+\w*\)\=/
syntax match liftOperator /=>\||>\|->\|||\|&&\|==\|!=\|<=\|>=\|<<\|>>\|\.\.\|[=|&^~+*\/%<>!-]/
syntax match liftComment /--.*$/
syntax region liftString start=/"/ end=/"/ oneline

highlight default link liftDeclaration Statement
highlight default link liftKeyword Keyword
highlight default link liftConstant Constant
highlight default link liftFunction Function
highlight default link liftType Type
highlight default link liftNumber Number
highlight default link liftOperator Operator
highlight default link liftComment Comment
highlight default link liftString String

let b:current_syntax = "lift"
