/** Why a connection never became a session, in a bounded set of words: they travel, and metrics count them. */

/** Why a listener let a connection go before it could be a session's. */
export const listenerRefusals = [
  'handshake_rate',
  'tls',
  'certificate',
  'proof',
  'join',
  'stream',
  'no_session',
] as const;

/**
 * Why a connection never came to a session. At the parent: what it told the child, or why it hung up without a word. At the child: what it was told, or
 * what it could not take.
 */
export const refusals = [
  'busy',
  'unknown_child',
  'version',
  'path',
  'clone',
  'superseded',
  'expired',
  'bad_hello',
  'bad_welcome',
  'no_hello',
  'no_welcome',
  'early_frames',
  'other',
] as const;
/** Metrics have a row for each: nothing that a peer chose is in them. */
export type Refusal = (typeof refusals)[number] | (typeof listenerRefusals)[number];

/** A word from the line is one of these, or any other. */
export function refusalOf(reason: string): Refusal {
  return refusals.find((known) => known === reason) ?? 'other';
}
