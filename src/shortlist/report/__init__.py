"""Reports: one HTML file that stands by itself, for those who were not there.

    report = evaluation_report(y, scores, budget=100, noun="cases", positive="fraud")
    write_report("report.html", report)

``evaluation_report`` is about one list, ``comparison_report`` about a `Comparison`. Both return a `Report`, with the
page in ``html`` and its first words in ``summary``. Nothing beyond NumPy and SciPy is needed: the plots are drawn as
SVG by this package.
"""

from shortlist.report.comparison import comparison_report
from shortlist.report.document import Report, write_report
from shortlist.report.evaluation import evaluation_report

__all__ = ["Report", "comparison_report", "evaluation_report", "write_report"]
