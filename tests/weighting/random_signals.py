"""Random signals for tests of combiners and gates."""

import numpy as np
from hypothesis import strategies as st

from anml.core.types import Signals

unit = st.floats(0, 1)
wide = st.floats(0.05, 1)


@st.composite
def signals(draw, values=unit, min_size=1):
    n = draw(st.integers(min_size, 15))
    q, v, r, p = (np.array(draw(st.lists(values, min_size=n, max_size=n))) for _ in range(4))
    return Signals.of(q, v, r, label_error_rate=draw(st.none() | st.just(0.2)), p_correct=p)
