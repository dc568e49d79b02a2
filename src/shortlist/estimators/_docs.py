"""Sections of docstrings that estimators share, written once and filled in when a class is made."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["fill_doc"]

Estimator = TypeVar("Estimator", bound=type)

_SECTIONS = {
    "C": """\
C : float, default=1.0
    Weight of the risk against the penalty. The risk is a mean, so C does not depend on the number of rows.
    Smaller is more regularised; tune it on held-out data.""",
    "loss": """\
loss : {'squared_hinge', 'hinge', 'logistic', 'exponential'}, default='squared_hinge'
    Surrogate of "the positive is not above the threshold".""",
    "kernel": """\
kernel : None, str, callable, kernel object or list, default=None
    None is linear. Names: 'rbf', 'laplacian', 'polynomial', 'tanimoto', 'precomputed'; see
    `shortlist.features.feature_map` for all that is accepted, sums included.
gamma : float, 'scale', 'auto' or None, default=None
    Width of the named kernels; of 'rbf' exp(-gamma |x-x'|^2).
scales : sequence of float, optional
    Widths sigma of a sum of Gaussians exp(-|x-x'|^2 / (2 sigma^2)).
degree : int, default=3
    Of 'polynomial'.
coef0 : float, default=1.0
    Of 'polynomial'.
kernel_params : dict, optional
    Keyword arguments of a callable kernel.
n_landmarks : int, 'all' or None, default=None
    Rows that stand for all in a kernel; None is exact up to 2,000 distinct rows.""",
    "stopping": """\
tol : float, default=1e-4
    Relative duality gap at which the solver stops.
max_iter : int or None, default=None
    Largest number of steps of the solver; None leaves it to the solver.""",
    "tail": """\
warm_start : bool, default=False
    Start from the last fit's solution where its shape allows.
verbose : int, default=0
    Log every so many steps at level INFO to the logger ``shortlist``.""",
    "least_squares": """\
tol : float, default=1e-6
    Relative duality gap; what the factors reach is far below.
max_iter : int or None, default=None
    Largest number of steps of 'iterative'; None is 2,000.
solver : {'auto', 'primal', 'dual', 'iterative'}, default='auto'
    A system in the columns, one in the rows, or conjugate gradients without a square matrix; 'auto' goes by shape,
    sparsity and memory.
max_memory : float, default=2e9
    Bytes that one square matrix may take. A kernel whose matrix would take more is refused: set ``n_landmarks``.
warm_start : bool, default=False
    Start 'iterative' from the last fit's solution where its shape allows.
random_state : int, RandomState, Generator or None, default=None
    Seed of the choice of landmarks; nothing else is random.
verbose : int, default=0
    Log every so many steps at level INFO to the logger ``shortlist``.""",
    "costs_solver": """\
solver : {'auto', 'bundle', 'newton'}, default='auto'
    'bundle' takes any cost, 'newton' the smooth ones: order 2, but for the closure of 'hmp'. 'auto' is 'newton'
    where it can be.""",
    "listwise_solver": """\
solver : {'auto', 'bundle'}, default='auto'
    The two are the same.""",
    "positive": """\
positive : bool, mask, list or dict, default=False
    Coefficients that must not be negative: True for all, a mask of booleans, or columns by number or name; a
    dictionary of columns says 1 (not negative) or -1 (not positive). Without a kernel. The certificate's bound is one
    over such weights.""",
    "bound": """\
bound_points_ : ndarray of shape (n_planes, n_components)
    Weights at which the risk was linearised: the planes there prove the certificate's bound.
bound_weights_ : ndarray of shape (n_planes,)
    Their weights, of sum at most 1; the rest belongs to the plane 0.""",
    "chosen": """\
method : {'leave_one_out', 'leave_pair_out', 'paper'}, default='leave_one_out'
    What is left out: single rows, or whole groups where fit is given groups; pairs of rows; or pairs by the
    approximation of the paper on MPRank. Only the first knows weights.
n_landmarks : int, 'all' or None, default=None
    Rows that stand for all in a kernel; None is exact up to 2,000 distinct rows.
tol : float, default=1e-6
    Relative duality gap that the certificate is held against.
max_memory : float, default=2e9
    Bytes that one square matrix may take.
random_state : int, RandomState, Generator or None, default=None
    Seed of the choice of landmarks; nothing else is random.
verbose : int, default=0
    Log every so many kernels at level INFO to the logger ``shortlist``.""",
    "chosen_attributes": """\
best_error_ : float
    The least hold-out error.
hold_out_predictions_ : ndarray or None
    Score of each training row by the fit without it, at the parameters chosen: a fair basis for anything that is
    learnt from scores. NaN for rows of weight 0; None where pairs are left out.""",
    "boosting": """\
n_estimators : int, default=100
    The most rounds. Fewer are taken where no weak ranker has an edge, or the loss has all but vanished.
weak : {'stump', 'linear'}
    'stump' asks whether a feature is above a threshold, for every threshold there is. 'linear' takes the features
    themselves, each divided by its range: the score is then linear.
learning_rate : float, default=1.0
    Share of the best step that is taken, at most 1.""",
    "boosting_tail": """\
validation : None, float, tuple, splitter or callable, default=None
    Rows to say when to stop. A float is the share of the rows of each class to hold out, with groups the share of the
    groups; a tuple holds other rows (X, y), (X, y, groups) or (X, y, groups, sample_weight); of a splitter of
    scikit-learn the first split serves; a callable gets X, y and groups and returns row numbers (train, held_out). The
    model is that of the best round, learnt from the other rows alone.
metric : str or callable, default='average_precision'
    What the held-out rows are measured by: a name of `shortlist.metrics`, or a function of labels and scores of which
    more is better (`functools.partial` gives parameters); ``groups`` and ``sample_weight`` reach it where given.
patience : int, default=20
    Rounds without a new best on the held-out rows before the fit ends.
random_state : int, RandomState, Generator or None, default=None
    Seed of the choice of rows to hold out; nothing else is random.
verbose : int, default=0
    Log every so many rounds at level INFO to the logger ``shortlist``.""",
    "boosting_attributes": """\
rounds_ : dict of ndarrays of shape (n_estimators_,)
    'feature', 'threshold' (NaN for 'linear'), 'weight' (in units of a ranker of range 1), 'edge' of the ranker before
    the round, 'loss' after it.
n_estimators_ : int
    Rounds of the model.
losses_ : ndarray
    Training loss before the first round (1) and after each that was run; it never rises.
train_scores_, validation_scores_ : ndarrays
    The metric after each round that was run, losses negated; with ``validation`` only.
held_out_ : ndarray of int
    Rows given to fit that were held out by ``validation``, and so not trained on.
coef_ : ndarray of shape (1, n_features)
    With 'linear' only.
intercept_ : ndarray of shape (1,)
    Minus the highest cut.
cuts_ : ndarray of shape (n_classes - 1,)
    Scores at which the predicted class changes: those that get most training rows right.
feature_importances_ : ndarray of shape (n_features,)
    Share of the fall of the log loss in the rounds of each feature.
certificate_ : BoostingCertificate
    The loss, and a bound on that of every other sum of weak rankers of the same total weight.
classes_ : ndarray
    The last is the positive: it belongs at the top. Absent where there were no labels.
n_features_in_ : int
    Columns of X in fit.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where X was a frame with string names.""",
    "random_state": """\
random_state : int, RandomState, Generator or None, default=None
    Seed of the choice of landmarks; nothing else is random.""",
    "attributes": """\
coef_ : ndarray of shape (1, n_components)
    Weights of the features, or of the kernel's feature map.
intercept_ : ndarray of shape (1,)
    Minus the threshold; of several thresholds minus their mean, weighted by the positives of each group.
thresholds_ : dict
    What a positive had to beat, by group id; groups with rows of one class only have none. Without groups the
    one key is None.
certificate_ : Certificate
    Objective, proven lower bound, gap, and whether the gap met ``tol``.
objective_ : Objective
    The problem that was solved.
n_iter_ : int
    Steps of the solver.
classes_ : ndarray of shape (2,)
    ``classes_[1]``, the label that sorts last, is the positive: it belongs at the top.
support_ : ndarray of int
    Training rows with a dual variable other than 0.
dual_coef_ : ndarray of shape (1, n_support)
    Their dual variables: alpha_i of positives, -beta_j of negatives.
n_support_ : ndarray of shape (2,)
    Support rows of each class.
feature_map_ : FeatureMap
    The fitted feature map.
n_features_in_ : int
    Columns of X in fit.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where X was a frame with string names.""",
    "regressor": """\
coef_ : ndarray of shape (n_targets, n_components)
    Weights of the features, or of the kernel's feature map.
intercept_ : ndarray of shape (n_targets,)
    Puts the scores on the scale of y: the mean residual is 0. No pair depends on it.
certificate_ : Certificate
    Objective, proven lower bound, gap, and whether the gap met ``tol``; of several targets the sums.
objective_ : PairObjective
    The problem that was solved.
n_iter_ : int
    Steps of the solver.
support_ : ndarray of int
    Training rows with a dual variable other than 0.
dual_coef_ : ndarray of shape (n_targets, n_support)
    Their dual variables alpha: the weights are the sum of the rows' features times alpha.
feature_map_ : FeatureMap
    The fitted feature map.
n_targets_ : int
    Columns of y.
n_features_in_ : int
    Columns of X in fit.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where X was a frame with string names.""",
    "overfits": """\
The maximum of many scores is a noisy target. On small or noisy data the weights that put most positives
above every training negative are often not those that do so on new rows: prefer strong regularisation (a
small C), and compare with `TauFPL`, whose threshold averages the highest share tau of the negatives and whose
tau can be tuned.

If the mean of the positives lies within the convex hull of the negatives, the optimum is w = 0 whatever C,
and nothing is ranked: fit says so with a `DegenerateOptimumWarning`. A larger tau, more features, or a kernel
help.""",
}


def fill_doc(cls: Estimator) -> Estimator:
    """Replace each line ``{name}`` of the class's docstring by the shared section, at its indentation."""
    lines = []
    for line in (cls.__doc__ or "").splitlines():
        word = line.strip()
        section = _SECTIONS.get(word[1:-1]) if word.startswith("{") and word.endswith("}") else None
        if section is None:
            lines.append(line)
        else:
            indent = line[: len(line) - len(line.lstrip())]
            lines.extend(indent + part if part else part for part in section.splitlines())
    cls.__doc__ = "\n".join(lines)
    return cls
