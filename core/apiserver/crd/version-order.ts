/** Sorts versions as Kubernetes prefers them: v10, v2, v1, v11beta2, v10beta3, v3beta1, v12alpha1, then other names in alphabetical order. */

const kubeVersion = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;

/** Negative if `a` is preferred. */
export function compareVersions(a: string, b: string): number {
  const left = kubeVersion.exec(a);
  const right = kubeVersion.exec(b);
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  return (
    stability(right[2]) - stability(left[2]) ||
    Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
  );
}

function stability(word: string | undefined): number {
  return word === undefined ? 2 : word === 'beta' ? 1 : 0;
}
