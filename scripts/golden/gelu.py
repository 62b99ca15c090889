#!/usr/bin/env python3
"""Computes the polynomials of src/cpu/simd/gelu.inc with a Remez exchange in 40 digits.

    scripts/golden/gelu.py        prints the coefficients and their relative errors

R(u) = Phi(-u) exp(u^2 / 2) decreases slowly from 1/2. With t = (u - A) / (u + A), R (u + A)
is a smooth function of t on [-1, 1). Needs mpmath.
"""
import mpmath as mp

mp.mp.dps = 40
A, LAST = mp.mpf("3.5"), mp.mpf("13.3")


def tail(t):
    u = A * (1 + t) / (1 - t)
    return mp.erfc(u / mp.sqrt(2)) * mp.exp(u * u / 2) / 2 * (u + A)


def nodes(low, high, n):
    """Returns n + 1 points, denser towards both ends."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / n) for i in range(n + 1)]


def solve(f, degree, x):
    """Returns the polynomial whose relative error at the points of x is +e, -e, +e, ..."""
    a = mp.matrix(degree + 2, degree + 2)
    for i, p in enumerate(x):
        for k in range(degree + 1):
            a[i, k] = p**k / f(p)
        a[i, degree + 1] = (-1) ** i
    c = mp.lu_solve(a, mp.ones(degree + 2, 1))
    return [c[k] for k in range(degree + 1)]


def extrema(error, low, high, n):
    """Returns the n points with the largest error, with alternating signs."""
    found = []
    for p in nodes(low, high, 60 * n):
        e = error(p)
        if not found or mp.sign(found[-1][1]) != mp.sign(e):
            found.append((p, e))
        elif abs(e) > abs(found[-1][1]):
            found[-1] = (p, e)
    while len(found) > n:
        found.pop(0 if abs(found[0][1]) < abs(found[-1][1]) else -1)
    return found


def remez(f, degree, low, high):
    x = nodes(low, high, degree + 1)
    for _ in range(8):
        c = solve(f, degree, x)
        found = extrema(lambda p: mp.polyval(c[::-1], p) / f(p) - 1, low, high, degree + 2)
        if len(found) < degree + 2:
            break
        x = [p for p, _ in found]
    return c, max(abs(e) for _, e in found)


def show(name, f, degree, low, high):
    c, error = remez(f, degree, low, high)
    print(f"{name}: relative error {mp.nstr(error, 3)}")
    print("   ", ", ".join(mp.nstr(v, 9) for v in c))


show("R(u) (u + 7/2) of t", tail, 9, mp.mpf(-1), (LAST - A) / (LAST + A))
show("exp", mp.exp, 6, -mp.log(2) / 2 * mp.mpf("1.01"), mp.log(2) / 2 * mp.mpf("1.01"))
print("for results in 16 bits:")
show("R(u) (u + 7/2) of t", tail, 5, mp.mpf(-1), (LAST - A) / (LAST + A))
show("exp", mp.exp, 4, -mp.log(2) / 2 * mp.mpf("1.01"), mp.log(2) / 2 * mp.mpf("1.01"))
