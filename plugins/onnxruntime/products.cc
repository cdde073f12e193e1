// Matrix products and convolutions with what was fused into them, and products with weights of a few bits.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {
namespace {

// The batch dimensions a and b broadcast, in front of the sizes of the matrices.
const char kProductSizes[] =
    "let ra = rank(A) ; let rb = rank(B) ; let ta = (transA ?: 0) && ra > 1 ; let tb = (transB ?: 0) && rb > 1\n"
    "let ba = (transBatchA ?: 0) ; let bb = (transBatchB ?: 0)\n"
    "let a = ra < 3 ? [] : ba ? dims(A)[1:ra-1] : dims(A)[0:ra-2] ; let b = rb < 3 ? [] : bb ? dims(B)[1:rb-1] : dims(B)[0:rb-2]\n"
    "let m = ra < 2 ? [] : [ta ? dim(A, -1) : dim(A, ba ? 0 : -2)] ; let n = rb < 2 ? [] : [tb ? dim(B, bb ? 0 : -2) : dim(B, -1)]\n"
    "let r = max(max(ra, rb) - 2, 0) ; let fa = concat(0 * range(r - max(ra - 2, 0)) + 1, a) ; let fb = concat(0 * range(r - max(rb - 2, 0)) + 1, b)\n"
    "shape Y[fa == fb ? fa : fa == 1 ? fb : fa, m, n]";

const char kProduct[] =
    "let rank(m) = rank(A) > 1 ; let rank(n) = rank(B) > 1\n"
    "let ta = (transA ?: 0) && rank(A) > 1 ; let tb = (transB ?: 0) && rank(B) > 1\n"
    "let ba = (transBatchA ?: 0) ; let bb = (transBatchB ?: 0)\n"
    "let a = ba ? (ta ? A[k, .., m..] : A[m.., .., k]) : ta ? A[.., k, m..] : A[.., m.., k]\n"
    "let b = bb ? (tb ? B[n.., .., k] : B[k, .., n..]) : tb ? B[.., n.., k] : B[.., k, n..]\n";

// By name, with the parameters of FusedConv or FusedGemm.
std::string Fused(const std::string& alpha, const std::string& beta) {
  return "let act(v) = (activation ?: \"\") == \"\" ? v : activation == \"Clip\" ? clamp(v, " + alpha + ", " + beta +
         ") : activation == \"HardSwish\" ? v * clamp(v / 6 + 0.5, 0, 1) : call(activation, v, " + alpha + ", " + beta +
         ")\n";
}

const char kConvSizes[] =
    "let N = rank(X) - 2 ; let xd = dims(X)[2:N+2] ; let K = kernel_shape ?: dims(W)[2:N+2]\n";

}  // namespace

std::string WindowSizes() {
  return "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let span = (K - 1) * dl + 1 ; let pad = auto_pad ?: \"NOTSET\"\n"
         "let lo = pad == \"VALID\" ? 0 : (pads ?: 0)[0:N] ; let hi = pad == \"VALID\" ? 0 : (pads ?: 0)[N:2*N]\n"
         "let room = xd + lo + hi - span\n"
         "let out = pad == \"SAME_UPPER\" || pad == \"SAME_LOWER\" ? (xd + st - 1) // st : "
         "(ceil_mode ?: 0) ? min((room + st - 1) // st, (xd + lo - 1) // st) + 1 : room // st + 1\n";
}

void RegisterProducts(Registrar& r) {
  for (const char* op : {"FusedMatMul", "TransposeMatMul"}) {
    const bool batches = op == std::string("FusedMatMul");
    auto block = r.op(std::string("com.microsoft.") + op);
    block.Doc("Matrix product times alpha, of operands transposed on demand.")
        .Input("A", "float")
        .Input("B", "float")
        .Output("Y", "float")
        .Attribute("alpha", "float", "1")
        .Attribute("transA", "int", "0")
        .Attribute("transB", "int", "0");
    if (batches) block.Attribute("transBatchA", "int", "0").Attribute("transBatchB", "int", "0");
    auto without = [&](std::string text) {  // TransposeMatMul knows no batches to move
      const std::string line = "let ba = (transBatchA ?: 0) ; let bb = (transBatchB ?: 0)\n";
      return batches ? text : text.replace(text.find(line), line.size(), "let ba = 0 ; let bb = 0\n");
    };
    block.Shape(without(kProductSizes))
        .Pure(without(kProduct) + "T[.., m.., n..] += a * b\nY = alpha * T")
        .Sample("A: f32[2, 3, 4]; B: f32[5, 4]; attr alpha = 0.5, transB = 1")
        .Sample("A: f32[2, 4, 3]; B: f32[2, 4, 5]; attr transA = 1");
    block.Sample(batches ? "A: f32[3, 2, 4]; B: f32[4, 2, 5]; attr transBatchA = 1, transBatchB = 1"
                         : "A: f32[2, 3]; B: f32[3, 2]; attr alpha = 2.0");
  }
  r.op("com.microsoft.FusedGemm")
      .Doc("An activation of alpha A B + beta C.")
      .Input("A", "float")
      .Input("B", "float")
      .Input("C", "float", /*optional=*/true)
      .Output("Y", "float")
      .Attribute("alpha", "float", "1")
      .Attribute("beta", "float", "1")
      .Attribute("transA", "int", "0")
      .Attribute("transB", "int", "0")
      .Attribute("activation", "string")
      .Attribute("activation_alpha", "float")
      .Attribute("activation_beta", "float")
      .Attribute("activation_gamma", "float")
      .Shape("shape Y[transA ? dim(A, 1) : dim(A, 0), transB ? dim(B, 0) : dim(B, 1)]")
      .Pure(Fused("activation_alpha", "activation_beta") +
            "let a = transA ? A[k, m] : A[m, k] ; let b = transB ? B[n, k] : B[k, n]\n"
            "T[m, n] += a * b\n"
            "if has(C) { U = alpha * T[..] + beta * C[..] } else { U = alpha * T }\n"
            "Y = act(U)")
      .Sample("A: f32[2, 3]; B: f32[3, 4]; C: f32[4]; attr alpha = 0.5, activation = \"Relu\"")
      .Sample("A: f32[3, 2]; B: f32[4, 3]; attr transA = 1, transB = 1, activation = \"LeakyRelu\", activation_alpha = 0.2")
      .Sample("A: f32[2, 2]; B: f32[2, 2]; C: f32[2, 1]; attr beta = 0.5, activation = \"Sigmoid\"");
  r.op("com.microsoft.FusedConv")
      .Doc("An activation of a convolution, to which Z may have been added.")
      .Input("X", "float")
      .Input("W", "float")
      .Input("B", "float", /*optional=*/true)
      .Input("Z", "float", /*optional=*/true)
      .Output("Y", "float")
      .Attribute("activation", "string")
      .Attribute("activation_params", "floats")
      .Attribute("auto_pad", "string", "\"NOTSET\"")
      .Attribute("dilations", "ints")
      .Attribute("group", "int", "1")
      .Attribute("kernel_shape", "ints")
      .Attribute("pads", "ints")
      .Attribute("strides", "ints")
      .Shape(std::string(kConvSizes) + "let ceil_mode = 0\n" + WindowSizes() + "shape Y[dim(X, 0), dim(W, 0), out]")
      .Pure(std::string("let ap = activation_params ?: [0.0, 0.0] ; let first = ap[0] ; let second = len(ap) > 1 ? ap[1] : 0\n") +
            Fused("first", "second") + kConvSizes +
            "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let yd = dims(Y)[2:N+2]\n"
            "let total = max((yd - 1) * st + (K - 1) * dl + 1 - xd, 0)\n"
            "let lo = auto_pad == \"SAME_UPPER\" ? total // 2 : auto_pad == \"SAME_LOWER\" ? (total + 1) // 2 : "
            "auto_pad == \"VALID\" ? 0 : (pads ?: 0)[0:N]\n"
            "let D = dim(W, 1) ; let M = dim(W, 0) // group\n"
            "require dim(X, 1) == D * group else \"X has {} channels where W and group need {}\", dim(X, 1), D * group\n"
            "T[n, o, p..] = B[o] ?: 0 over n in 0:dim(X, 0), o in 0:dim(W, 0), p.. in 0:yd\n"
            "T[n, o, p..] += (X[n, o // M * D + c, p * st + k * dl - lo] ?? 0) * W[o, c, k..]\n"
            "if has(Z) { require dims(Z) == dims(Y) else \"Z has another shape than Y\" ; T = T + Z }\n"
            "Y = act(T)")
      .Sample("X: f32[2, 3, 5, 6]; W: f32[4, 3, 3, 3]; B: f32[4]; attr pads = [1, 1, 1, 1], activation = \"Relu\"")
      .Sample(
          "X: f32[1, 2, 5, 5]; W: f32[2, 1, 3, 3]; B: f32[2]; Z: f32[1, 2, 2, 2]; attr group = 2, strides = [2, 2], activation = \"Clip\", activation_params = [0.0, 6.0]")
      .Sample("X: f32[1, 2, 5]; W: f32[2, 2, 2]; attr auto_pad = \"SAME_UPPER\", activation = \"Tanh\"");
  r.op("com.microsoft.MatMulNBits")
      .Doc("Product with weights of 2, 4 or 8 bits, each block of block_size of them with a scale and a zero point.")
      .Input("A", "float")
      .Input("B", "u8")
      .Input("scales", "float")
      .Input("zero_points", "any", /*optional=*/true)
      .Input("g_idx", "i32", /*optional=*/true)
      .Input("bias", "float", /*optional=*/true)
      .Output("Y", "A")
      .RequiredAttribute("K", "int")
      .RequiredAttribute("N", "int")
      .RequiredAttribute("block_size", "int")
      .Attribute("bits", "int", "4")
      .Attribute("accuracy_level", "int", "0")
      .Shape("shape Y[dims(A)[0:rank(A) - 1], N]")
      .Pure(
          "let nb = (K + block_size - 1) // block_size ; let per = 8 // bits ; let top = bits == 8 ? 255 : bits == 4 ? 15 : bits == 2 ? 3 : only_2_4_or_8_bits\n"
          "let bytes = (block_size * bits + 7) // 8\n"
          "require dim(B, 0) == N && dim(B, 1) == nb && dim(B, 2) == bytes else \"B is [{}, {}, {}] where [{}, {}, {}] is needed\", "
          "dim(B, 0), dim(B, 1), dim(B, 2), N, nb, bytes\n"
          "let count = rank(scales) == 1 ? dim(scales, 0) : dim(scales, 0) * dim(scales, 1)\n"
          "require count == N * nb else \"scales has {} elements where {} are needed\", count, N * nb\n"
          "let g = has(g_idx) ? i64(g_idx[k]) : k // block_size ; let row = (nb * bits + 7) // 8\n"
          "let s = rank(scales) == 1 ? scales[n * nb + g] : scales[n, g]\n"
          "let byte = i32(B[n, k // block_size, k % block_size // per])\n"
          "let q = byte >> i32(k % per * bits) & i32(top)\n"
          "if has(zero_points) { if is_int(zero_points) {\n"
          "    let zero = i32(zero_points.flat[n * row + g * bits // 8]) >> i32(g * bits % 8) & i32(top)\n"
          "    V[k, n] = cast(q - zero, dtype(A)) * cast(s, dtype(A)) over k in 0:K, n in 0:N\n"
          "  } else { V[k, n] = (cast(q, dtype(A)) - cast(zero_points.flat[n * nb + g], dtype(A))) * cast(s, dtype(A)) over k in 0:K, n in 0:N }\n"
          "} else { V[k, n] = cast(q - i32((top + 1) // 2), dtype(A)) * cast(s, dtype(A)) over k in 0:K, n in 0:N }\n"
          "Y[.., n] = bias[n] ?: 0\n"
          "Y[.., n] += A[.., k] * V[k, n]")
      .Sample(
          "A: f32[2, 32]; B: u8[3, 2, 8] in [0, 255]; scales: f32[6] in [0.1, 1]; attr K = 32, N = 3, block_size = 16, bits = 4")
      .Sample(
          "A: f32[2, 32]; B: u8[3, 1, 32] in [0, 255]; scales: f32[3, 1] in [0.1, 1]; zero_points: u8[3] in [100, 150]; bias: f32[3]; attr K = 32, N = 3, block_size = 32, bits = 8")
      .Sample(
          "A: f32[1, 2, 16]; B: u8[2, 1, 4] in [0, 255]; scales: f32[2] in [0.1, 1]; attr K = 16, N = 2, block_size = 16, bits = 2");
}

}  // namespace onnxruntime_ops
