/**
 * One end of a stream at one hop, as a pure state machine that counts bytes. Each input gives a list of effects. stream-end.ts has the bytes, and carries out
 * the effects.
 *
 * Credit: a side may send only as many bytes as the other side has credited. The side that asks for the stream gives its credit with the Open. The first
 * credit of the other side means that an endpoint has accepted the stream. Only data need credit; credits, ends and resets do not.
 *
 * Invariant while the stream is open: window = bytes that the peer may still send + bytes delivered and not consumed + bytes consumed and not credited again.
 */
import { creditBytesMax, dataBytesMax, type ResetCode } from './stream.ts';

export type StreamInput =
  // From the holder of this end.
  | { readonly type: 'accept' }
  | { readonly type: 'write'; readonly bytes: number }
  | { readonly type: 'end' }
  | { readonly type: 'consumed'; readonly bytes: number }
  | { readonly type: 'abort'; readonly code: ResetCode; readonly message: string }
  // From the line.
  | { readonly type: 'data'; readonly bytes: number }
  | { readonly type: 'credit'; readonly bytes: number }
  | { readonly type: 'fin' }
  | { readonly type: 'reset' }
  /** The call ended, or its connection broke. */
  | { readonly type: 'lost' }
  /** The data of `sendData` was sent. `full`: the transport asks for a pause. */
  | { readonly type: 'sent'; readonly full: boolean }
  /** The transport accepts data: the call exists, or its buffer has room again. */
  | { readonly type: 'drained' }
  | { readonly type: 'deadline' };

export type StreamEffect =
  | { readonly type: 'sendData'; readonly bytes: number }
  | { readonly type: 'sendCredit'; readonly bytes: number }
  | { readonly type: 'sendFin' }
  | { readonly type: 'accepted' }
  | { readonly type: 'deliver' }
  | { readonly type: 'ended' }
  /** No `why`: both sides ended the stream normally. `sendReset`: the peer gets a reset. For `reset` and `lost`, the caller has the reason. */
  | { readonly type: 'closed'; readonly why?: Reason; readonly sendReset: boolean };

export type Reason = { readonly code: ResetCode; readonly message: string } | 'reset' | 'lost';

export interface StreamState {
  readonly asks: boolean;
  readonly phase: 'opening' | 'open' | 'closed';
  readonly windowBytes: number;
  // Sending.
  readonly credit: number;
  readonly queued: number;
  readonly full: boolean;
  readonly ending: boolean;
  readonly finSent: boolean;
  // Receiving.
  /** Number of bytes that the peer may still send. */
  readonly granted: number;
  /** Number of bytes that were delivered and are not consumed yet. */
  readonly held: number;
  /** Number of bytes that were consumed and are not credited again yet. */
  readonly owed: number;
  readonly finReceived: boolean;
}

export type StreamStepped = { readonly state: StreamState; readonly effects: readonly StreamEffect[] };

/** The first state of an end. `credit`: for the end that answers, the credit in the Open, which allows this end to send. */
export function beginStream(side: { asks: true } | { asks: false; credit: number }, windowBytes: number): StreamState {
  return {
    asks: side.asks,
    phase: 'opening',
    windowBytes,
    credit: side.asks ? 0 : side.credit,
    queued: 0,
    full: true,
    ending: false,
    finSent: false,
    granted: side.asks ? windowBytes : 0,
    held: 0,
    owed: 0,
    finReceived: false,
  };
}

export function stepStream(state: StreamState, input: StreamInput): StreamStepped {
  if (state.phase === 'closed') return { state, effects: [] };
  switch (input.type) {
    case 'accept':
      return pump({ ...state, phase: 'open', granted: state.windowBytes }, [
        { type: 'sendCredit', bytes: state.windowBytes },
      ]);
    case 'write':
      return pump({ ...state, queued: state.queued + input.bytes });
    case 'end':
      return pump({ ...state, ending: true });
    case 'consumed':
      return onConsumed(state, input.bytes);
    case 'abort':
      return close(state, { code: input.code, message: input.message }, true);
    case 'data':
      return onData(state, input.bytes);
    case 'credit':
      return onCredit(state, input.bytes);
    case 'fin':
      return onFin(state);
    case 'reset':
      return close(state, 'reset', false);
    case 'lost':
      // Both directions have ended, and the peer has closed the call first. This is a normal end.
      if (state.finSent && state.finReceived) return close({ ...state, held: 0 }, undefined, false);
      return close(state, 'lost', false);
    case 'sent':
      return pump({ ...state, full: input.full });
    case 'drained':
      return pump({ ...state, full: false });
    case 'deadline':
      if (state.phase === 'open') return { state, effects: [] };
      return close(state, { code: 'DeadlineExceeded', message: 'did not take the stream in time' }, true);
  }
}

function onData(state: StreamState, bytes: number): StreamStepped {
  if (state.phase === 'opening') return broken(state, 'Protocol', 'data before the stream was taken');
  if (state.finReceived) return broken(state, 'Protocol', 'data after the end');
  if (bytes === 0) return broken(state, 'Protocol', 'a data frame without data');
  if (bytes > state.granted) {
    return broken(state, 'FlowControl', `${bytes} bytes of data where ${state.granted} were credited`);
  }
  return {
    state: { ...state, granted: state.granted - bytes, held: state.held + bytes },
    effects: [{ type: 'deliver' }],
  };
}

function onCredit(state: StreamState, bytes: number): StreamStepped {
  if (bytes === 0) return broken(state, 'Protocol', 'a credit of nothing');
  const credit = state.credit + bytes;
  if (credit > creditBytesMax) {
    return broken(
      state,
      'FlowControl',
      `a credit of ${bytes} bytes on top of ${state.credit}: the limit is ${creditBytesMax}`,
    );
  }
  if (state.phase === 'open') return pump({ ...state, credit });
  if (!state.asks) return broken(state, 'Protocol', 'a credit before the stream was taken');
  return pump({ ...state, phase: 'open', credit }, [{ type: 'accepted' }]);
}

function onFin(state: StreamState): StreamStepped {
  if (state.phase === 'opening') return broken(state, 'Protocol', 'an end before the stream was taken');
  if (state.finReceived) return broken(state, 'Protocol', 'a second end');
  return closeIfDone({ ...state, finReceived: true }, [{ type: 'ended' }]);
}

/** Returns credit only when half of the window was consumed. So a slow reader costs one frame for each half window, and not one for each byte. */
function onConsumed(state: StreamState, bytes: number): StreamStepped {
  if (bytes > state.held) throw new Error(`${bytes} bytes were reported as consumed, and only ${state.held} are held`);
  const owed = state.owed + bytes;
  const held = state.held - bytes;
  if (state.finReceived || owed < state.windowBytes / 2) return closeIfDone({ ...state, held, owed }, []);
  return {
    state: { ...state, held, owed: 0, granted: state.granted + owed },
    effects: [{ type: 'sendCredit', bytes: owed }],
  };
}

/** Sends the next data frame, if possible. Sends only one frame at a time; the input `sent` then asks for the next one. */
function pump(state: StreamState, before: readonly StreamEffect[] = []): StreamStepped {
  if (state.phase !== 'open') return { state, effects: before };
  const { queued, credit, full, ending, finSent } = state;
  const bytes = full ? 0 : Math.min(queued, credit, dataBytesMax);
  if (bytes > 0) {
    const next = { ...state, queued: queued - bytes, credit: credit - bytes };
    return { state: next, effects: [...before, { type: 'sendData', bytes }] };
  }
  if (ending && queued === 0 && !finSent) {
    return closeIfDone({ ...state, finSent: true }, [...before, { type: 'sendFin' }]);
  }
  return { state, effects: before };
}

function closeIfDone(state: StreamState, before: readonly StreamEffect[]): StreamStepped {
  if (!state.finSent || !state.finReceived || state.held > 0) return { state, effects: before };
  const { state: closed, effects } = close(state, undefined, false);
  return { state: closed, effects: [...before, ...effects] };
}

function broken(state: StreamState, code: ResetCode, message: string): StreamStepped {
  return close(state, { code, message }, true);
}

function close(state: StreamState, why: Reason | undefined, sendReset: boolean): StreamStepped {
  return {
    state: { ...state, phase: 'closed', queued: 0 },
    effects: [{ type: 'closed', sendReset, ...(why ? { why } : {}) }],
  };
}
