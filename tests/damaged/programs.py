"""Whole programs as IR text, to be damaged."""

PROGRAMS = {
    "elementwise": """sdfg f(X: f32[N, 4], Y: f32[N, 4]) {
  transient T: f32[N, 4]
  state {
    map i in 0:N, j in 0:4 { T[i, j] = max(X[i, j], 0) + exp(-abs(X[i, j])) }
    map i in 0:N, j in 0:4 { Y[i, j] = T[i, j] * 2 - (X[i, j - 1] ?? 0.5) }
  }
}
""",
    "library": """sdfg mlp(X: f32[N, 8], W: f32[8, 4], Y: f32[N, 4]) {
  transient H: f32[N, 4]
  state {
    onnx.MatMul(A = X, B = W) -> (Y = H)
    onnx.Softmax{axis = 1}(input = H) -> (output = Y)
  }
}
""",
    "control": """sdfg g(X: f32[N], Y: f32[N], C: bool[]) {
  transient S: f32[]
  state { S = 0 }
  for k in 0:3 {
    state { map i in 0:N { S += X[i] } }
  }
  if C {
    state { map i in 0:N { Y[i] = S } }
  } else {
    state { map i in 0:N { Y[i] = X[i] } }
  }
}
""",
    "calls": """sdfg main(X: f32[N], Y: f32[N]) {
  transient T: f32[N]
  state {
    call twice(A = X, B = T)
    call twice(A = T, B = Y)
  }
}
sdfg twice(A: f32[N], B: f32[N]) {
  state { map i in 0:N { B[i] = A[i] * 2 } }
}
""",
}
