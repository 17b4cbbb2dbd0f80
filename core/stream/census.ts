/**
 * Finds streams that only one side of a session knows: each side lists its own from time to time, and the other resets what it does not
 * know the second time in a row. Once is no sign: the call of a stream may be on its way while its id is in a list.
 */

/** Long beside the time between an Open and its call, short beside a working day. */
export const censusEveryMs = 30_000;

export interface CensusState {
  /** Of the last list: what was not known here. */
  readonly suspects: ReadonlySet<number>;
}

export const noSuspects: CensusState = { suspects: new Set() };

/** `listed`: the other side's ids, of which only the first `idsMax` count. `unknown`: to be reset. */
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
