"""Layers of neural networks by JAX."""

import jax
import jax.numpy as jnp
from jax.lax import conv_general_dilated, dynamic_slice, fori_loop, reduce_window


def relu(x):
    return jnp.maximum(x, 0)


def softmax(x):
    shifted = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return shifted / jnp.sum(shifted, axis=-1, keepdims=True)


def conv2d(image, weights):
    """A loop over the pixels, as in the kernel."""
    K, n, channels = weights.shape[0], image.shape[0], image.shape[3]
    rows, columns = image.shape[1] - K + 1, image.shape[2] - K + 1

    def pixel(t, output):
        i, j = t // columns, t % columns
        part = dynamic_slice(image, (0, i, j, 0), (n, K, K, channels))
        return output.at[:, i, j, :].set(jnp.sum(part[..., None] * weights[None], axis=(1, 2, 3)))

    return fori_loop(0, rows * columns, pixel, jnp.zeros((n, rows, columns, weights.shape[3]), image.dtype))


def conv(image, weights):
    return conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def maxpool2d(x):
    def pixel(t, output):
        i, j = t // output.shape[2], t % output.shape[2]
        part = dynamic_slice(x, (0, 2 * i, 2 * j, 0), (x.shape[0], 2, 2, x.shape[3]))
        return output.at[:, i, j, :].set(jnp.max(part, axis=(1, 2)))

    rows, columns = x.shape[1] // 2, x.shape[2] // 2
    return fori_loop(0, rows * columns, pixel, jnp.zeros((x.shape[0], rows, columns, x.shape[3]), x.dtype))


def pool(x):
    return reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def conv2d_bias(input, weights, bias):
    return conv2d(input, weights) + bias


def conv2d_bias_idiomatic(input, weights, bias):
    return conv(input, weights) + bias


def _lenet(conv, pool):
    def lenet(input, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b, N, C_before_fc1):
        x = pool(relu(conv(input, conv1) + conv1bias))
        x = pool(relu(conv(x, conv2) + conv2bias))
        x = relu(jnp.reshape(x, (N, C_before_fc1)) @ fc1w + fc1b)
        return relu(x @ fc2w + fc2b) @ fc3w + fc3b

    return lenet


def mlp(input, w1, b1, w2, b2, w3, b3):
    return softmax(relu(relu(input @ w1 + b1) @ w2 + b2) @ w3 + b3)


def batchnorm2d(x, eps=1e-5):
    return (x - jnp.mean(x, axis=0, keepdims=True)) / jnp.sqrt(jnp.std(x, axis=0, keepdims=True) + eps)


def _resnet(conv):
    def resnet(input, conv1, conv2, conv3):
        padded = jnp.pad(conv(input, conv1), ((0, 0), (1, 1), (1, 1), (0, 0)))
        x = relu(batchnorm2d(padded))
        x = relu(batchnorm2d(conv(x, conv2)))
        return relu(batchnorm2d(conv(x, conv3)) + input)

    return resnet


LITERAL = {"conv2d_bias": conv2d_bias, "softmax": softmax, "mlp": mlp, "lenet": _lenet(conv2d, maxpool2d), "resnet": _resnet(conv2d)}
IDIOMATIC = {"conv2d_bias": conv2d_bias_idiomatic, "softmax": lambda x: jax.nn.softmax(x, axis=-1), "lenet": _lenet(conv, pool),
             "resnet": _resnet(conv)}
