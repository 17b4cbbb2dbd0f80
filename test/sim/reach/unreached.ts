/**
 * Branches that no run of the simulation can reach, each with its reason: named by their line as it reads, so that one that changes has to be looked at again.
 * They count as missed.
 */
const unreached: readonly { readonly file: string; readonly line: string; readonly why: string }[] = [];

export function whyLeft(file: string, line: string): string | undefined {
  return unreached.find((one) => one.file === file && one.line === line)?.why;
}
