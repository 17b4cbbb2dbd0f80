/**
 * Finds streams that only one side of a session knows. From time to time, each side sends a list of its streams. The other side resets a stream that it does
 * not know in two lists in a row. Once proves nothing: the call of the stream may be on its way while its id is in a list.
 */

/** Much longer than the time between an Open and its call, and much shorter than a working day. */
export const censusEveryMs = 30_000;

export interface CensusState {
  /** The ids of the last list that were not known here. */
  readonly suspects: ReadonlySet<number>;
}

export const noSuspects: CensusState = { suspects: new Set() };

/** `listed`: ids that the other side has sent; only the first `idsMax` count. `unknown`: the ids that have to be reset. */
export function takeCensus(
  state: CensusState,
  listed: readonly number[],
  isKnown: (id: number) => boolean,
  idsMax: number,
): { readonly state: CensusState; readonly unknown: readonly number[] } {
  const missing = new Set(listed.slice(0, idsMax).filter((id) => !isKnown(id)));
  const unknown = [...missing].filter((id) => state.suspects.has(id));
  return { state: { suspects: missing }, unknown };
}
