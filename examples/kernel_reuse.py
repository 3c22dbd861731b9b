"""Reusing a learned kernel: in a support vector machine and in kernel PCA.

A kernel that was learned while fitting one model is an object that other tools take. Here it is
learned by telling tumours apart (the Wisconsin data that come with scikit-learn), and then handed
to a support vector machine, and to kernel PCA as a map of the patients in two dimensions. Each is
compared with the same tool and its usual RBF kernel: the learned one has seen the labels, so its
map keeps apart what differs in them.

The trend is switched off, so that the kernel has to carry everything.
"""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from banklearn import BankClassifier
from gallery import Gallery


def main(gallery: Gallery) -> BankClassifier:
    """Learn on half of the patients, reuse on the other half."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, random_state=0, stratify=y
    )
    model = BankClassifier(
        gallery.budget(48, 128),
        n_chains=gallery.budget(1, 2),
        n_warmup=gallery.budget(40, 200),
        n_draws=gallery.budget(8, 40),
        trend="constant",
        random_state=0,
    ).fit(X_train, y_train)
    kernel = model.kernel_

    svm = SVC(kernel=kernel, C=10.0).fit(X_train, y_train)
    usual = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X_train, y_train)
    print(f"the model itself: {100 * model.score(X_test, y_test):.1f} % right")
    print(f"support vector machine, learned kernel: {100 * svm.score(X_test, y_test):.1f} % right")
    print(f"support vector machine, RBF kernel: {100 * usual.score(X_test, y_test):.1f} % right")

    def separation(train: object, test: object) -> float:
        return KNeighborsClassifier(5).fit(train, y_train).score(test, y_test)

    learned = KernelPCA(2, kernel="precomputed").fit(kernel(X_train))
    map_train, map_test = (
        learned.transform(kernel(X_train)),
        learned.transform(kernel(X_test, X_train)),
    )
    plain = make_pipeline(StandardScaler(), KernelPCA(2, kernel="rbf")).fit(X_train)
    print("five neighbours on the two coordinates of kernel PCA:")
    print(f"  learned kernel: {100 * separation(map_train, map_test):.1f} % right")
    usual_score = separation(plain.transform(X_train), plain.transform(X_test))
    print(f"  RBF kernel: {100 * usual_score:.1f} % right")

    ax = gallery.axes("first coordinate", "second coordinate")
    for label, name in enumerate(("malignant", "benign")):
        ax.plot(*map_test[y_test == label].T, "o^"[label], markersize=4, label=name)
    ax.legend(frameon=False)
    gallery.save(ax, "reuse-map")
    return model


if __name__ == "__main__":
    main(Gallery.from_arguments(__doc__))
