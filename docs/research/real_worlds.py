"""Worlds: Gymnasium's and a few invented ones. make(name) -> env, cost(x,a,y,r), limit, H, episodes, actions(list)"""
import math, numpy as np, gymnasium
class Sp:
    def __init__(s, n=None, shape=None): s.n, s.shape = n, shape
class Base:
    A = 2; D = 1
    @property
    def action_space(s): return Sp(n=s.A)
    @property
    def observation_space(s): return Sp(shape=(s.D,))
    def reset(s, seed=None): s.rng = np.random.default_rng(seed); return s.start(), {}
class Dispatcher(Base):
    """queue of jobs with values; 3 actions: nothing, slow server (cost .3), fast server (cost 1). reward served, holding penalty."""
    A, D = 3, 3
    def start(s): s.q = s.rng.uniform(0, 4); s.t = s.rng.uniform(0, 2*math.pi); return s.o()
    def o(s): return np.array([s.q, math.sin(s.t), math.cos(s.t)])
    def step(s, a):
        can = (0., .6, 1.5)[a]; served = min(s.q, can); s.c = (0., .3, 1.)[a]
        s.q = s.q-served+s.rng.poisson(.5+.4*math.sin(s.t)); s.q = min(s.q, 10.); s.t += .2
        return s.o(), served-.05*s.q, False, False, {}
class Inventory(Base):
    """order 0..3 units, poisson demand, sales reward 1, cost = stock held above 0 (storage)"""
    A, D = 4, 2
    def start(s): s.x = 3.; s.d = 1.; return s.o()
    def o(s): return np.array([s.x, s.d])
    def step(s, a):
        s.x = min(s.x+a, 12.); w = s.rng.poisson(s.d); sold = min(s.x, w); s.x -= sold; s.d = float(np.clip(s.d+.2*s.rng.standard_normal(), .3, 2.5))
        s.c = s.x/12.
        return s.o(), sold-.3*a, False, False, {}
class Thermostat(Base):
    """room and wall temperature, outside; heat 0/1/2; reward comfort; cost energy; ends early if the pipes freeze"""
    A, D = 3, 4
    def start(s): s.T = s.rng.uniform(12, 20); s.Wl = s.T-2; s.t = s.rng.uniform(0, 6.28); return s.o()
    def o(s): return np.array([s.T, s.Wl, math.cos(s.t), math.sin(s.t)])
    def step(s, a):
        out = 4+8*math.cos(s.t)+s.rng.normal(); s.T += 1.2*a+.15*(s.Wl-s.T)+.05*(out-s.T); s.Wl += .1*(s.T-s.Wl)+.05*(out-s.Wl); s.t += .1; s.c = a/2
        return s.o(), math.exp(-(s.T-20)**2/18), s.T < 3, False, {}
class Robot(Base):
    """point mass, 5 actions; goal at (.8,.8) ends with reward 10, wall crash ends with 0; -.0 else; cost: inside the mud |x-y|<.25 around centre"""
    A, D = 5, 4
    def start(s): s.p = s.rng.uniform(-.9, -.6, 2); s.v = np.zeros(2); return s.o()
    def o(s): return np.concatenate([s.p, s.v])
    def step(s, a):
        u = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]][a])*.01
        s.v = .95*s.v+u+.002*s.rng.standard_normal(2); s.p = s.p+s.v; s.c = float(np.hypot(*s.p) < .5)
        out = bool((abs(s.p) > 1.2).any()); goal = bool(np.hypot(*(s.p-.8)) < .25)
        return s.o(), -.1+10*goal-5*out, out or goal, False, {}
class Pend:
    def __init__(s): s.e = gymnasium.make("Pendulum-v1").unwrapped; s.action_space = Sp(n=5); s.observation_space = s.e.observation_space
    def reset(s, seed=None): return s.e.reset(seed=seed)
    def step(s, a): return s.e.step(np.array([a-2.]))
push = lambda e, x, a, y: float(a != 1)
far = lambda e, x, a, y: float(abs(y[0]) > .5)
own = lambda e, x, a, y: e.c
W = {"mc90": ("MountainCar-v0", push, 90, 200, 200), "mc150": ("MountainCar-v0", push, 150, 200, 200), "cp200": ("CartPole-v1", far, 20, 200, 500), "cp500": ("CartPole-v1", far, 50, 500, 600),
     "acro": ("Acrobot-v1", push, 120, 200, 200), "pend": (Pend, lambda e, x, a, y: abs(a-2)/2, 100, 200, 300),
     "disp": (Dispatcher, own, 25, 100, 300), "inv": (Inventory, own, 20, 100, 300), "therm": (Thermostat, own, 40, 100, 300), "robot": (Robot, own, 5, 100, 300)}
def make(n):
    w = W[n]; env = gymnasium.make(w[0]).unwrapped if isinstance(w[0], str) else w[0]()
    return (env,)+w[1:]
