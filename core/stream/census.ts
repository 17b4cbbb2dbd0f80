/**
 * Finds streams that only one side of a session knows. From time to time, each side sends a list of its streams. The other side resets a stream that is in
 * two consecutive lists and that it does not know. One list is not enough: it may arrive before the call of the stream.
 */

/** Time between two lists: much longer than the time between an Open and its call, and much shorter than a working day. */
export const censusEveryMs = 30_000;

export interface CensusState {
  /** The ids of the previous list that this side did not know. */
  readonly suspects: ReadonlySet<number>;
}

export const noSuspects: CensusState = { suspects: new Set() };

/** Processes a list of the other side. `listed`: its ids; only the first `idsMax` are used. Returns in `unknown` the ids that have to be reset. */
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
