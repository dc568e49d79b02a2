"""Whom a file may name: the classes of this package, and a list of scikit-learn's.

A class of ours is looked up in the module that defines it, within the rooms that make models.  Of scikit-learn there
is a list, kept by hand: models whose prediction is NumPy's arithmetic, and trees, whose arrays are checked node by
node.  Not on it are those whose compiled code trusts what it is given (support vector machines with kernels, nearest
neighbours): a crafted file could end the interpreter.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
from typing import Any

from sklearn.base import BaseEstimator

from shortlist.features import FeatureMap, Kernel

__all__ = ["OPENED", "SKLEARN", "is_ours", "is_plain_part", "our_class", "path_of", "sklearn_class"]

ROOMS = ("certification", "comparison", "estimators", "features", "risks", "selection", "solvers", "statistics")
OURS = re.compile(rf"shortlist\.({'|'.join(ROOMS)})(\.[A-Za-z0-9_]{{1,60}}){{1,6}}")


def _paths(listing: str) -> frozenset[str]:
    found = set()
    for line in listing.split("\n"):
        module, _, names = line.strip().partition(": ")
        found |= {f"sklearn.{module}.{name}" for name in names.split()}
    return frozenset(found)


SKLEARN = _paths("""\
_loss.link: IdentityLink Interval LogitLink LogLink HalfLogitLink MultinomialLogit
_loss.loss: AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss HalfPoissonLoss
_loss.loss: HalfSquaredError HuberLoss PinballLoss
calibration: CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration
compose._column_transformer: ColumnTransformer make_column_selector
compose._target: TransformedTargetRegressor
decomposition._pca: PCA
decomposition._truncated_svd: TruncatedSVD
discriminant_analysis: LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis
dummy: DummyClassifier DummyRegressor
ensemble._bagging: BaggingClassifier BaggingRegressor
ensemble._forest: ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor
ensemble._gb: GradientBoostingClassifier GradientBoostingRegressor
ensemble._hist_gradient_boosting.binning: _BinMapper
ensemble._hist_gradient_boosting.gradient_boosting: HistGradientBoostingClassifier HistGradientBoostingRegressor
ensemble._hist_gradient_boosting.predictor: TreePredictor
ensemble._stacking: StackingClassifier StackingRegressor
ensemble._voting: VotingClassifier VotingRegressor
ensemble._weight_boosting: AdaBoostClassifier AdaBoostRegressor
feature_extraction.text: TfidfTransformer
feature_selection._from_model: SelectFromModel
feature_selection._univariate_selection: SelectKBest SelectPercentile
feature_selection._variance_threshold: VarianceThreshold
frozen._frozen: FrozenEstimator
gaussian_process.kernels: CompoundKernel ConstantKernel DotProduct Exponentiation ExpSineSquared Hyperparameter
gaussian_process.kernels: Matern Product RBF RationalQuadratic Sum WhiteKernel
impute._base: MissingIndicator SimpleImputer
isotonic: IsotonicRegression
kernel_approximation: Nystroem PolynomialCountSketch RBFSampler
linear_model._base: LinearRegression
linear_model._bayes: ARDRegression BayesianRidge
linear_model._coordinate_descent: ElasticNet ElasticNetCV Lasso LassoCV
linear_model._glm.glm: GammaRegressor PoissonRegressor TweedieRegressor
linear_model._huber: HuberRegressor
linear_model._logistic: LogisticRegression LogisticRegressionCV
linear_model._passive_aggressive: PassiveAggressiveClassifier PassiveAggressiveRegressor
linear_model._perceptron: Perceptron
linear_model._ridge: Ridge RidgeCV RidgeClassifier RidgeClassifierCV
linear_model._stochastic_gradient: SGDClassifier SGDRegressor
linear_model._theil_sen: TheilSenRegressor
model_selection._classification_threshold: FixedThresholdClassifier TunedThresholdClassifierCV
metrics._scorer: _PassthroughScorer _Scorer
model_selection._search: GridSearchCV RandomizedSearchCV
model_selection._split: GroupKFold KFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold
model_selection._split: StratifiedKFold StratifiedShuffleSplit
naive_bayes: BernoulliNB ComplementNB GaussianNB MultinomialNB
neural_network._multilayer_perceptron: MLPClassifier MLPRegressor
pipeline: FeatureUnion Pipeline
preprocessing._data: Binarizer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer QuantileTransformer RobustScaler
preprocessing._data: StandardScaler
preprocessing._discretization: KBinsDiscretizer
preprocessing._encoders: OneHotEncoder OrdinalEncoder
preprocessing._function_transformer: FunctionTransformer
preprocessing._label: LabelBinarizer LabelEncoder
preprocessing._polynomial: PolynomialFeatures
preprocessing._target_encoder: TargetEncoder
svm._classes: LinearSVC LinearSVR
tree._classes: DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor
tree._tree: Tree
""")


# What holds other models or scorers, and is opened whatever it holds.
OPENED = frozenset(
    path for path in SKLEARN if path.startswith(("sklearn.metrics._scorer.", "sklearn.model_selection._search."))
)


def path_of(kind: type) -> str:
    """The dotted name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def is_plain_part(kind: type) -> bool:
    """Whether a class of ours is a record or a piece of a model, made of its attributes."""
    record = dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    return record or issubclass(kind, BaseEstimator | FeatureMap | Kernel)


def is_ours(thing: Any) -> bool:
    """Whether a thing is of a class that ``our_class`` finds again."""
    kind = type(thing)
    return OURS.fullmatch(path_of(kind)) is not None and is_plain_part(kind)


def our_class(path: str) -> type:
    """A class of this package by its dotted name."""
    if not OURS.fullmatch(path):
        raise ValueError(f"it names {path!r}, which is no model of Shortlist")
    module, _, name = path.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise ValueError(f"it names {path!r}, which this version of Shortlist does not have") from None
    if not isinstance(kind, type) or path_of(kind) != path or not is_plain_part(kind):
        raise ValueError(f"it names {path!r}, which is no model of Shortlist")
    return kind


def sklearn_class(path: str) -> type:
    """A class of scikit-learn that is on the list."""
    if path not in SKLEARN:
        raise ValueError(f"it names {path!r}, which is not on the list of trusted types")
    module, _, name = path.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise ValueError(f"it names {path!r}, which this version of scikit-learn does not have") from None
    if not isinstance(kind, type):
        raise ValueError(f"it names {path!r}, which is no class")
    return kind
