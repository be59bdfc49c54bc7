"""Pooled, optimistic value iteration with features found from data, one limit, and a dual found inside the planner. NumPy and Numba.

The regression of LSVI is kept, its feature map is new: phi(x,a) is a point of the simplex over prototypes z_1..z_N (merged states that
were seen), the interpolation weights of the predicted next state, so that  P^ V (x,a) = phi(x,a) . (V(z_1),...,V(z_N)).  It never
extrapolates, shares everything between steps and actions, and is sparse (2D+2 non-zeros), so that a sweep is cheap.

  scaling      z = (x - mid)/half, 1% and 99% quantiles
  model        z' = z + B_a f(z) + cell residual; f = (1, z, 200 random Fourier features); ridge by GCV per coordinate; same for r and c
  interpolation  w >= 0 on the 2D+2 nearest prototypes, sum 1, mean at the predicted z' as far as the hull allows
  baseline     V = V_smooth + rest, V_smooth = least squares on quadratics and random Fourier features: only the rest is interpolated
  optimism     share u of the next state that is unknown (distance to what was seen against nu, divided by 1 + visits of the cell) is
               worth U_h = the best sum of rewards ever seen over H-h-1 steps + floor (H-h-1)
  dual         Y = the smallest Y whose estimated cost meets limit - corr, corr = running mean of observed - estimated cost
"""
import math, sys, time, json
import numpy as np, numba as nb

JIT = dict(cache=True, fastmath=True, nogil=True)
F32 = np.float32


# ---------------------------------------------------------------- features
@nb.njit(**JIT)
def model_features(z, om, ph, out):
    D = len(z); out[0] = 1.
    for t in range(D): out[1+t] = z[t]
    s = .3*math.sqrt(2./len(ph))
    for j in range(len(ph)):
        v = ph[j]
        for t in range(D): v += om[j, t]*z[t]
        out[1+D+j] = s*math.cos(v)


@nb.njit(**JIT)
def baseline_features(z, om, ph, out):
    D = len(z); c = 0
    for t in range(D):
        out[c] = z[t]; c += 1
        for u in range(t+1): out[c] = .5*z[t]*z[u]; c += 1
    for j in range(len(ph)):
        v = ph[j]
        for t in range(D): v += om[j, t]*z[t]
        out[c] = math.cos(v); c += 1


@nb.njit(**JIT)
def baseline_matrix(Z, om, ph, p):
    out = np.empty((len(Z), p))
    for i in range(len(Z)): baseline_features(Z[i], om, ph, out[i])
    return out


@nb.njit(**JIT)
def predict_all(Z, om, ph, B):
    """(n,D) -> (n,A,D+2): displacement, reward and cost for every action"""
    n = len(Z); A, P, E = B.shape; out = np.zeros((n, A, E)); f = np.empty(P)
    for i in range(n):
        model_features(Z[i], om, ph, f)
        for a in range(A):
            for j in range(P):
                for e in range(E): out[i, a, e] += f[j]*B[a, j, e]
    return out


@nb.njit(**JIT)
def predict_taken(Z, a, om, ph, B):
    n = len(Z); A, P, E = B.shape; out = np.zeros((n, E)); f = np.empty(P)
    for i in range(n):
        model_features(Z[i], om, ph, f)
        for j in range(P):
            for e in range(E): out[i, e] += f[j]*B[a[i], j, e]
    return out


# ---------------------------------------------------------------- interpolation on prototypes
@nb.njit(**JIT)
def interpolate(q, Zp, N, k, eps, nu, idx, w, dist):
    """Weights w >= 0 on the k nearest prototypes, local-linear: w_j ~ K_j (1 + (z_j - m) S^-1 (q - m))_+, K_j = 1/(d_j^2 + eps^2). Returns the unknown share."""
    D = Zp.shape[1]; m = min(k, N); c = 0; worst = 1e300
    for i in range(N):
        d = 0.
        for t in range(D):
            v = Zp[i, t]-q[t]; d += v*v
        if c < m or d < worst:
            if c < m: j = c; c += 1
            else: j = m-1
            while j > 0 and dist[j-1] > d: dist[j] = dist[j-1]; idx[j] = idx[j-1]; j -= 1
            dist[j] = d; idx[j] = i; worst = dist[c-1]
    mu = np.zeros(D); S = np.zeros((D, D)); b = np.empty(D); tot = 0.; tr = 0.
    for j in range(m): w[j] = 1./(dist[j]+eps*eps); tot += w[j]
    for j in range(m):
        w[j] /= tot
        for t in range(D): mu[t] += w[j]*(Zp[idx[j], t]-q[t])
    for j in range(m):
        for t in range(D):
            for u in range(t+1): S[t, u] += w[j]*(Zp[idx[j], t]-q[t]-mu[t])*(Zp[idx[j], u]-q[u]-mu[u])
    for t in range(D): tr += S[t, t]
    for t in range(D): S[t, t] += 1e-3*tr/D+1e-10
    for t in range(D):                                    # Cholesky, then b = S^-1 (q - m)
        for u in range(t+1):
            v = S[t, u]
            for l in range(u): v -= S[t, l]*S[u, l]
            if t == u: S[t, t] = math.sqrt(max(v, 1e-12))
            else: S[t, u] = v/S[u, u]
    for t in range(D):
        v = -mu[t]
        for l in range(t): v -= S[t, l]*b[l]
        b[t] = v/S[t, t]
    for t in range(D-1, -1, -1):
        v = b[t]
        for l in range(t+1, D): v -= S[l, t]*b[l]
        b[t] = v/S[t, t]
    tot = 0.
    for j in range(m):
        f = 1.
        for t in range(D): f += (Zp[idx[j], t]-q[t]-mu[t])*b[t]
        w[j] *= max(f, 0.); tot += w[j]
    if tot < 1e-9: w[:] = 0.; w[0] = 1.; tot = 1.
    for j in range(m): w[j] /= tot
    rho = 0.
    for t in range(D):
        v = 0.
        for j in range(m): v += w[j]*(Zp[idx[j], t]-q[t])
        rho += v*v
    for j in range(m, k): idx[j] = 0; w[j] = 0.
    return 1.-math.exp(-max(rho, .25*dist[0])/(nu*nu))


@nb.njit(**JIT)
def build_rows(Zp, term, k, eps, nu, mod, noise, nw, cnt, Phi, om, ph):
    """Sparse rows of the model for every prototype and action: indices, weights, their number, unknown share, baseline correction"""
    N, D = Zp.shape; A = mod.shape[1]; S = len(noise); p = Phi.shape[1]
    idx = np.zeros((N, A, S*k), np.int32); w = np.zeros((N, A, S*k), np.float32); nnz = np.zeros((N, A), np.int32); unk = np.zeros((N, A)); cor = np.zeros((N, A, p), np.float32)
    q = np.empty(D); ii = np.empty(k, np.int64); ww = np.empty(k); dd = np.empty(k); f = np.empty(p); acc = np.empty(p)
    for i in range(N):
        if term[i]: continue
        for a in range(A):
            c = 0; acc[:] = 0.
            for s in range(S):
                for t in range(D): q[t] = min(max(Zp[i, t]+mod[i, a, t]+noise[s, t], -3.), 3.)
                unk[i, a] += nw[s]*interpolate(q, Zp, N, k, eps, nu, ii, ww, dd); baseline_features(q, om, ph, f)
                for l in range(p): acc[l] += nw[s]*f[l]
                for j in range(k):
                    x = nw[s]*ww[j]
                    if x < 1e-4: continue
                    g = ii[j]; hit = -1
                    for l in range(c):
                        if idx[i, a, l] == g: hit = l; break
                    if hit < 0: hit = c; idx[i, a, c] = g; c += 1
                    w[i, a, hit] += x
                    for l in range(p): acc[l] -= x*Phi[g, l]
            nnz[i, a] = c; unk[i, a] /= 1.+cnt[i, a]
            for l in range(p): cor[i, a, l] = acc[l]
    return idx, w, nnz, unk, cor


@nb.njit(**JIT)
def best_windows(rn, st, lens, done, end, ns):
    """the best sum of normalised rewards ever seen over n steps in a row (an early end goes on at `end` a step)"""
    out = np.zeros(len(ns))
    for e in range(len(st)):
        T = lens[e]; c = np.zeros(T+1)
        for t in range(T): c[t+1] = c[t]+rn[st[e]+t]
        for j in range(len(ns)):
            n = ns[j]
            for t in range(T):
                v = c[t+n]-c[t] if t+n <= T else c[T]-c[t]+(end*(n-T+t) if done[e] else 0.)
                if v > out[j]: out[j] = v
    return out


# ---------------------------------------------------------------- planning
@nb.njit(**JIT)
def sweep(idx, w, nnz, unk, rg, term, tv, cor, Gt, end, H, Y, temp, V, coef, U):
    """Backward pass over all prototypes: V (H+1,N,2) reward and utility of the soft-max policy on Q_r + Y Q_g, coef the baseline, U the worth of the unknown"""
    N, A, K = idx.shape; p = Gt.shape[1]; q = np.empty(A); qr = np.empty(A); qg = np.empty(A); ab0 = 0.; ab1 = 0.; c0 = np.empty(p, np.float32); c1 = np.empty(p, np.float32)
    for i in range(N):
        for l in range(2): V[H, i, l] = tv[i, l] if term[i] else 0.
    for h in range(H-1, -1, -1):
        Vn = V[h+1]; c0[:] = 0.; c1[:] = 0.
        for i in range(N):
            r = Vn[i, 0]; g = Vn[i, 1]
            for l in range(p): c0[l] += Gt[i, l]*r; c1[l] += Gt[i, l]*g
        for l in range(p): coef[h, l, 0] = c0[l]; coef[h, l, 1] = c1[l]
        u = U[h]; cap = float(H-h)
        for i in range(N):
            if term[i]: V[h, i, 0] = ab0+end[0]+tv[i, 0]; V[h, i, 1] = ab1+end[1]+tv[i, 1]; continue
            m = -1e300
            for a in range(A):
                x0 = np.float32(0.); x1 = np.float32(0.)
                for l in range(p): x0 += cor[i, a, l]*c0[l]; x1 += cor[i, a, l]*c1[l]
                for j in range(nnz[i, a]):
                    x = w[i, a, j]; t = idx[i, a, j]; x0 += x*Vn[t, 0]; x1 += x*Vn[t, 1]
                r = float(x0); g = float(x1); r += unk[i, a]*max(u-r, 0.)
                qr[a] = min(max(r+rg[i, a, 0], 0.), cap); qg[a] = min(max(g+rg[i, a, 1], 0.), cap); q[a] = qr[a]+Y*qg[a]
                if q[a] > m: m = q[a]
            s = 0.; r = 0.; g = 0.
            for a in range(A):
                z = temp*(q[a]-m)
                if z > -20.: e = math.exp(z); s += e; r += e*qr[a]; g += e*qg[a]
            V[h, i, 0] = r/s; V[h, i, 1] = g/s
        ab0 += end[0]; ab1 += end[1]


@nb.njit(**JIT)
def choose(z, h, H, om, ph, B, Zp, res, cnt, k, eps, nu, noise, nw, V, coef, U, Phi, bom, bph, Y, temp, rmap, u01):
    """The action at a state: the same Q, made at the state itself"""
    N, D = Zp.shape; A, P, E = B.shape; p = Phi.shape[1]; f = np.empty(P); model_features(z, om, ph, f); near = 0; best = 1e300
    for i in range(N):
        d = 0.
        for t in range(D):
            v = Zp[i, t]-z[t]; d += v*v
        if d < best: best = d; near = i
    q = np.empty(D); ii = np.empty(k, np.int64); ww = np.empty(k); dd = np.empty(k); val = np.empty(A); fb = np.empty(p); o = np.empty(E); m = -1e300
    for a in range(A):
        for e in range(E): o[e] = res[near, a, e]
        for j in range(P):
            for e in range(E): o[e] += f[j]*B[a, j, e]
        r = 0.; g = 0.; un = 0.
        for s in range(len(noise)):
            for t in range(D): q[t] = min(max(z[t]+o[t]+noise[s, t], -3.), 3.)
            un += nw[s]*interpolate(q, Zp, N, k, eps, nu, ii, ww, dd); baseline_features(q, bom, bph, fb)
            for j in range(k):
                if ww[j] > 0.:
                    r += nw[s]*ww[j]*V[h+1, ii[j], 0]; g += nw[s]*ww[j]*V[h+1, ii[j], 1]
                    for l in range(p): fb[l] -= ww[j]*Phi[ii[j], l]
            for l in range(p): r += nw[s]*fb[l]*coef[h, l, 0]; g += nw[s]*fb[l]*coef[h, l, 1]
        r += un/(1.+cnt[near, a])*max(U[h]-r, 0.)
        r += min(max((o[D]-rmap[0])/rmap[1], 0.), 1.); g += min(max((rmap[2]-o[D+1])/rmap[3], 0.), 1.)
        val[a] = min(max(r, 0.), float(H-h))+Y*min(max(g, 0.), float(H-h))
        if val[a] > m: m = val[a]
    s = 0.
    for a in range(A): val[a] = math.exp(max(temp*(val[a]-m), -50.)); s += val[a]
    c = 0.
    for a in range(A):
        c += val[a]/s
        if u01 < c: return a
    return A-1


# ---------------------------------------------------------------- the agent
class Agent:
    def __init__(s, D, A, H, limit, seed=0, md=200, pb=0, budget=3000, cell=(.035, .08), frac=.65, need=30, nu=.3, k=0, eps=.1, floor=.05, hope=.5, alpha=3., ymax=20., win=20, tol=.01, lazy=.5,
                 tfloor=.3, gain=.05, evals=5, grow=1.2, gap=25, rho=.03, ratio=3., S=5, noisetol=.05, keep=60000, ridge=1.):
        s.D, s.A, s.H, s.limit = D, A, H, limit; s.budget, s.frac, s.need, s.floor, s.alpha, s.ymax, s.win, s.tol, s.lazy, s.tfloor, s.gain, s.evals, s.grow, s.S, s.noisetol, s.keep, s.ridge, s.rho, s.ratio = budget, frac, need, floor, alpha, ymax, win, tol, lazy, tfloor, gain, evals, grow, S, noisetol, keep, ridge, rho, ratio
        g = s.rng = np.random.default_rng(seed+99); pb = pb or 10*D; s.k = k or 2*D+2; s.md = md
        freq = lambda n, lo, hi: (g.standard_normal((n, D))/np.exp(g.uniform(math.log(lo), math.log(hi), (n, 1))), g.uniform(0, 2*math.pi, n))
        s.om, s.ph = freq(md, .5, 3.); s.bom, s.bph = freq(pb, .7, 2.); s.p = pb+D+D*(D+1)//2
        s.cell0, s.cell1 = cell[0]*math.sqrt(D), cell[1]*math.sqrt(D); s.cell, s.coarse = s.cell0, 1.5*s.cell0; s.nu0 = nu*math.sqrt(D); s.eps = eps; s.mix = g.integers(1, 2**61, D)|1
        s.hope = hope; s.data = []; s.returns = []; s.built = s.alarms = 0; s.gap = gap; s.ep = 0; s.next = 1; s.V = None; s.Y = 0.; s.est = None; s.corr = s.var = 0.; s.ncorr = 0; s.dual_ep = 0; s.plans = s.nev = 0; s.tplan = s.treb = 0.
    # -- data
    def scale(s, X): return np.clip((X-s.mid)/s.sc, -3, 3)
    def hash(s, Z, cell, dn): q = np.round(Z/cell).astype(np.int64) @ s.mix; return np.where(dn, q ^ 0x5bd1e995, q)
    def observe(s, X, acts, rs, cs, done):
        """X (T+1,D) raw states, T actions, rewards, costs; done: the episode ended early"""
        T = len(acts); dn = np.zeros(T, bool); dn[-1] = done; e = (X[:-1], np.array(acts), np.array(rs, float), np.array(cs, float), X[1:], dn); s.data.append(e); s.ep += 1
        if s.est is not None:
            d = sum(cs)-s.est-s.corr; s.ncorr += 1; n = min(s.ncorr, s.win); s.corr += d/n; s.var += (d*d-s.var)/n
        s.returns.append(float(sum(rs))); since = s.ep-s.built
        if since >= 3 and s.built >= 10:                      # alarm: clearly worse than before this plan was made
            now, old = np.array(s.returns[s.built:]), np.array(s.returns[max(s.built-20, 0):s.built])
            if now.mean() < old.mean()-max(.1*np.ptp(s.returns), 2.5*old.std()/math.sqrt(since)): s.next = s.ep; s.alarms += 1
        if s.ep >= s.next: s.next = max(s.ep+1, min(math.ceil(s.ep*s.grow), s.ep+s.gap)); s.built = s.ep; s.rebuild()
        else: s.ingest(*e)
    def add(s, Z, dn, hs):
        i = np.arange(s.n, s.n+len(Z)); s.n += len(Z)
        while s.n > len(s.Zp): s.Zp, s.term, s.cnt, s.rs, s.tb = (np.concatenate([v, np.zeros_like(v)]) for v in (s.Zp, s.term, s.cnt, s.rs, s.tb))
        s.Zp[i] = Z; s.term[i] = dn; s.keys.update(zip(hs.tolist(), i.tolist())); return i
    def account(s, i, Z, Zn, a, r, c, dn, ends):
        E = np.concatenate([Zn-Z, r[:, None], c[:, None]], 1)-predict_taken(Z, a, s.om, s.ph, s.B)
        if dn.any(): np.add.at(s.tb, ends, np.concatenate([E[dn][:, s.D:], np.ones((len(ends), 1))], 1)); E[dn, s.D:] = 0.   # pay of the end: kept at the terminal prototype
        np.add.at(s.rs, (i, a), E); np.add.at(s.cnt, (i, a), 1.); return E
    def ingest(s, X, a, r, c, Xn, dn):
        Z = np.concatenate([s.scale(X), s.scale(Xn[-1:])]); d = np.zeros(len(Z), bool); d[-1] = dn[-1]; hf, hc = s.hash(Z, s.cell, d), s.hash(Z, s.coarse, d)+1; idx = np.empty(len(Z), np.int64)
        for t in range(len(Z)):
            i = s.keys.get(int(hf[t]), -1)
            if i < 0 and s.n >= s.budget: i = s.keys.get(int(hc[t]), -1)
            if i < 0: i = int(s.add(Z[t:t+1], d[t:t+1], hf[t:t+1])[0])
            idx[t] = i
        s.account(idx[:-1], Z[:-1], s.scale(Xn), a, r, c, dn, idx[-1:]); s.starts[int(idx[0])] = s.starts.get(int(idx[0]), 0)+1
    def rebuild(s):
        """scaling, model, prototypes and noise, made again from the kept transitions"""
        t0 = time.time()
        while sum(len(e[1]) for e in s.data) > s.keep: h = len(s.data)//2; s.data = s.data[:h][::2]+s.data[h:]
        X, a, r, c, Xn, dn = (np.concatenate(v) for v in zip(*s.data)); lens = np.array([len(e[1]) for e in s.data])
        lo, hi = np.quantile(X, [.01, .99], axis=0); s.mid = (lo+hi)/2; s.sc = np.maximum((hi-lo)/2, 1e-6); r0, r1 = min(0., r.min()), max(0., r.max()); c0, c1 = min(0., c.min()), max(0., c.max())
        s.dr, s.dc = max(r1-r0, 1e-9), max(c1-c0, 1e-9); s.c1 = c1; s.rmap = np.array([r0, s.dr, c1, s.dc]); s.end = np.array([-r0/s.dr, c1/s.dc])
        st = np.cumsum(lens)-lens; last = st+lens-1; back = np.add.reduceat((r-r0)/s.dr, st)+s.end[0]*(s.H-lens)*dn[last]; spread = float(np.ptp(back))   # how far episodes differ, in normalised reward
        s.tau, s.fl = (min(max(.2*s.H/spread, 1.), 100.), min(s.floor, .5*spread/s.H)) if spread > 1e-6*s.H else (1., s.hope)
        ns = np.unique(np.linspace(1, s.H, 17).astype(np.int64)); left = s.H-1.-np.arange(s.H)
        s.U = np.minimum(np.interp(left, np.append(0, ns), np.append(0., best_windows((r-r0)/s.dr, st, lens, dn[last], s.end[0], ns)))+s.fl*left, left)
        s.ymin = min(s.rho*spread*s.tau*s.dc/max(s.limit, 1e-2*s.H*s.dc), .5)
        Z, Zn = s.scale(X), s.scale(Xn); T = np.concatenate([Zn-Z, r[:, None], c[:, None]], 1)
        for b in range(s.A):                                  # what an end itself pays belongs to the end, not to the state before it
            i, o = (a == b)&dn, (a == b)&~dn
            if i.any() and o.any(): T[i, s.D:] = T[o, s.D:].mean(0)
        s.fit(Z, a, T); i, E = s.compress(Z, a, r, c, Zn, dn, lens)
        # empirical Bayes: how far a cell's mean residual is to be believed; what is left is noise
        j = i*s.A+a; n = s.n; cn = s.cnt[:n].reshape(-1); m = s.rs[:n].reshape(-1, s.D+2)/np.maximum(cn, 1)[:, None]; many = cn >= 2; within = ((E-m[j])**2).sum(0)/max(len(E)-(cn > 0).sum(), 1)
        tau = np.maximum((m[many]**2).mean(0)-within*(1/cn[many]).mean(), 1e-12+.01*within) if many.sum() > 5 else within+1e-12
        s.n0 = np.maximum(within/tau, .05); s.sd = np.sqrt(np.minimum(within, s.gcv)[:s.D]); s.noise = np.zeros((1, s.D)); s.nw = np.ones(1)
        if (s.sd > s.noisetol).any():
            F = E[s.rng.choice(len(E), min(len(E), 2000), replace=False), :s.D]; F = F-F.mean(0); C = F[np.argsort(F @ np.linalg.svd(F, full_matrices=False)[2][0])][((np.arange(s.S)+.5)*len(F)/s.S).astype(int)]
            for _ in range(5): l = ((F[:, None]-C)**2).sum(2).argmin(1); C = np.stack([F[l == q].mean(0) if (l == q).any() else C[q] for q in range(s.S)])
            s.nw = np.bincount(l, minlength=s.S)/len(l); s.noise = C-s.nw @ C
        s.V = None; s.treb += time.time()-t0
    def fit(s, Z, a, T):
        """per action ridge of (displacement, reward, cost) on the model features; strength by generalised cross-validation for each column"""
        s.B = np.zeros((s.A, 1+s.D+s.md, s.D+2)); s.gcv = np.zeros(s.D+2)
        for b in range(s.A):
            i = np.flatnonzero(a == b)
            if len(i) == 0: s.B[b, 0] = T.mean(0); continue
            if len(i) > 3000: i = s.rng.choice(i, 3000, replace=False)
            F = np.concatenate([np.ones((len(i), 1)), Z[i], .3*math.sqrt(2/s.md)*np.cos(Z[i] @ s.om.T+s.ph)], 1); m = T[i].mean(0); y = T[i]-m; n = len(i)
            e, Q = np.linalg.eigh(F.T @ F); e = np.maximum(e, 1e-12); Fy = Q.T @ (F.T @ y); tot = (y*y).sum(0); best = np.full(y.shape[1], np.inf)
            for lam in 10.**np.arange(-5, 4):
                f = e/(e+lam); g = np.maximum(tot-((2*f-f*f)/e) @ Fy**2, 1e-12*tot)/n/(1-min(f.sum()/n, .95))**2; up = g < best
                if up.any(): s.B[b][:, up] = (Q @ (Fy/(e+lam)[:, None]))[:, up]; best = np.where(up, g, best)
            s.B[b, 0] += m; s.gcv += best*(a == b).mean()
    def compress(s, Z, a, r, c, Zn, dn, lens):
        """prototypes: fine cells for the newest and the best episodes (as many as fit), coarse cells for the rest"""
        n, K = len(Z), len(lens); ends = np.cumsum(lens); st = ends-lens; last = ends-1; S = np.concatenate([Z, Zn[last]]); d = np.concatenate([np.zeros(n, bool), dn[last]]); epi = np.concatenate([np.repeat(np.arange(K), lens), np.arange(K)])
        score = np.add.reduceat((r-s.rmap[0])/s.dr+s.Y/s.tau*(s.c1-c)/s.dc, st)+(s.end[0]+s.Y/s.tau*s.end[1])*(s.H-lens)*dn[last]; elite = np.argsort(-score-1e-9*np.arange(K), kind="stable"); s.cell = max(s.cell0, .9*s.cell)
        order = np.stack([np.arange(K)[::-1], elite], 1).ravel(); order = order[np.sort(np.unique(order, return_index=True)[1])]
        while True:
            while True:
                hf = s.hash(S, s.cell, d); use = np.zeros(K, bool); seen = set()
                for e in order:
                    hs = set(hf[st[e]:ends[e]].tolist()); hs.add(int(hf[n+e])); hs |= seen
                    if len(hs) > s.frac*s.budget: break
                    seen = hs; use[e] = True
                if use.sum() >= min(K, s.need) or s.cell >= s.cell1: break
                s.cell = min(s.cell*1.2, s.cell1)
            if not use.any(): use[-1] = True
            fine = use[epi]; s.fine = int(use.sum()); u, at = np.unique(hf[fine], return_index=True); pos = np.minimum(np.searchsorted(u, hf), len(u)-1); known = u[pos] == hf; s.coarse = 1.5*s.cell
            while True:
                hc = s.hash(S, s.coarse, d)+1; v, at2, inv = np.unique(hc[~known], return_index=True, return_inverse=True)
                if len(u)+len(v) <= .9*s.budget or s.coarse > s.ratio*s.cell: break
                s.coarse *= 1.2
            if s.coarse <= s.ratio*s.cell: break
            s.cell *= 1.15                                    # too uneven: neighbours would all lie on the fine side
        s.keys = {}; s.n = 0; m = 1024; s.Zp = np.zeros((m, s.D)); s.term = np.zeros(m, bool); s.cnt = np.zeros((m, s.A)); s.rs = np.zeros((m, s.A, s.D+2)); s.tb = np.zeros((m, 3)); s.starts = {}
        i = np.flatnonzero(fine)[at]; s.add(S[i], d[i], u); idx = np.empty(len(S), np.int64); idx[known] = pos[known]
        if len(v): i = np.flatnonzero(~known)[at2]; s.add(S[i], d[i], v); idx[~known] = len(u)+inv
        for q, t in zip(*np.unique(idx[st], return_counts=True)): s.starts[int(q)] = int(t)
        return idx[:n], s.account(idx[:n], Z, Zn, a, r, c, dn, idx[n:][dn[last]])
    # -- planning
    def model(s):
        n = s.n; s.Zm, s.tm, s.cm = s.Zp[:n].copy(), s.term[:n].copy(), s.cnt[:n].copy(); s.res = s.rs[:n]/(s.cm[:, :, None]+s.n0); mod = predict_all(s.Zm, s.om, s.ph, s.B)+s.res; s.nu = max(s.nu0, s.cell, .5*s.coarse)
        s.Phi = baseline_matrix(s.Zm, s.bom, s.bph, s.p); one = np.concatenate([s.Phi, np.ones((n, 1))], 1); s.Gt = np.ascontiguousarray(np.linalg.solve(one.T @ one+s.ridge*np.eye(s.p+1), one.T)[:-1].T.astype(F32))
        s.idx, s.w, s.nnz, s.unk, s.cor = build_rows(s.Zm, s.tm, s.k, s.eps*s.cell, s.nu, mod, s.noise, s.nw, s.cm, s.Phi, s.bom, s.bph)
        s.rg = np.clip(np.stack([(mod[..., s.D]-s.rmap[0])/s.dr, (s.c1-mod[..., s.D+1])/s.dc], -1), 0, 1); s.sw = np.zeros(n); s.sw[list(s.starts)] = list(s.starts.values()); s.sw /= s.sw.sum(); s.tv = s.tb[:n, :2]/np.maximum(s.tb[:n, 2:], 1)/[s.dr, -s.dc]
        s.V = np.empty((s.H+1, n, 2), F32); s.coef = np.empty((s.H, s.p, 2))
    def value(s, Y):
        """estimated cost of the plan for Y, from the starts seen"""
        s.nev += 1; s.temp = s.alpha*math.sqrt(s.ep+1)*s.tau/(1+Y); sweep(s.idx, s.w, s.nnz, s.unk, s.rg, s.tm, s.tv, s.cor, s.Gt, s.end, s.H, Y/s.tau, s.temp, s.V, s.coef, s.U); s.at = Y
        return s.c1*s.H-float(s.sw @ s.V[0, :, 1])*s.dc
    def plan(s):
        if s.ep == 0: return
        target = max(s.limit-s.corr, s.tfloor*s.limit); fresh = s.V is None; small = max(s.tol*s.limit, 1e-3*s.H*s.dc); band = max(small, s.lazy*math.sqrt(s.var/s.win))
        if not fresh:
            off = s.est-target
            if abs(off) < band or (off < 0 and s.Y <= s.ymin) or s.ep < s.dual_ep+max(1, s.ep//20): return
        t0 = time.time(); s.plans += 1; s.dual_ep = s.ep
        if fresh: s.model()
        lo = hi = None; Y = max(s.Y, s.ymin); c = s.value(Y) if fresh else s.est                  # cost falls as Y grows: lo costs too much, hi too little
        for _ in range(s.evals):
            d = c-target
            if abs(d) <= max(small, .3*band) or (d < 0 and Y <= s.ymin): break
            if lo and d > 0 and c < s.limit and lo[1]-d < s.gain*s.limit*math.log2(max(Y, .05)/max(lo[0], .05)): Y, c = lo[0], lo[1]+target; break   # more Y buys nothing: no wind-up
            if d > 0: lo = (Y, d)
            else: hi = (Y, d)
            if lo and hi: f = lo[1]/(lo[1]-hi[1]); Y = lo[0]+(hi[0]-lo[0])*min(max(f, .2), .8)
            elif lo:
                if Y >= s.ymax: break
                Y = min(max(2*Y, .1), s.ymax)
            else: Y = max(Y/2 if Y > .02 else 0., s.ymin)
            c = s.value(Y)
        if s.at != Y: c = s.value(Y)
        s.Y, s.est = Y, c; s.tplan += time.time()-t0
    def act(s, h, x, rng):
        if s.V is None: return int(rng.integers(s.A))
        return choose(s.scale(x), h, s.H, s.om, s.ph, s.B, s.Zm, s.res, s.cm, s.k, s.eps*s.cell, s.nu, s.noise, s.nw, s.V, s.coef, s.U, s.Phi, s.bom, s.bph, s.Y/s.tau, s.temp, s.rmap, rng.random())
    def info(s): return "Y %.2f tau %.1f est %.1f corr %.1f alarms %d plans %d evals %d n %d cell %.3f %.3f fine %d sd %s n0 %s plan %.1f reb %.1f" % (s.Y, s.tau, s.est or 0, s.corr, s.alarms, s.plans, s.nev, s.n, s.cell, s.coarse, s.fine, np.round(s.sd, 3), np.round(s.n0, 1), s.tplan, s.treb)


# ---------------------------------------------------------------- the loop
def run(name, seed, verbose=0, K=None, **kw):
    import real_worlds as worlds
    env, cost, lim, H, K0 = worlds.make(name); K = K or K0; rng = np.random.default_rng(seed); ag = Agent(env.observation_space.shape[0], int(env.action_space.n), H, lim, seed=seed, **kw); t0 = time.process_time(); hist = []
    for k in range(K):
        ag.plan(); x, _ = env.reset(seed=seed*100003+k); X = [np.asarray(x, float)]; acts, rs, cs = [], [], []; done = False
        for h in range(H):
            a = ag.act(h, X[-1], rng); y, r, term, _, _ = env.step(a); cs.append(float(cost(env, X[-1], a, y))); X.append(np.asarray(y, float)); acts.append(a); rs.append(float(r))
            if term: done = True; break
        ag.observe(np.array(X), acts, rs, cs, bool(done)); hist.append((sum(rs), sum(cs)))
        if verbose and (k+1) % verbose == 0: print(k+1, "R %.1f C %.1f" % tuple(np.mean(hist[-verbose:], 0)), ag.info(), "%.1fs" % (time.process_time()-t0), flush=True)
    return np.array(hist), ag, time.process_time()-t0


if __name__ == "__main__":
    names, seeds = sys.argv[1].split(","), [int(v) for v in sys.argv[2].split(",")]; kw = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}; v = kw.pop("verbose", 0); K = kw.pop("K", None)
    for sd in seeds:
        for n in names:
            h, ag, t = run(n, sd, v, K, **kw); q = len(h)//4
            print(n, sd, kw, "q", " ".join("%.0f/%.0f" % tuple(h[i*q:(i+1)*q].mean(0)) for i in range(4)), "LAST50 %.1f / %.1f" % tuple(h[-50:].mean(0)), ag.info(), "%.1fs" % t, flush=True)
