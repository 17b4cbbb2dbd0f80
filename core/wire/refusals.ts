/** Why a connection never became a session: a bounded set of codes. They travel, and metrics count them. */

/** Why a listener closed a connection before it could become a session. */
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
 * Why a connection never became a session. At the parent: the reason that it sent to the child, or why it closed the connection without a reason. At the
 * child: the reason that it received, or why it could not accept the parent's answer.
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
/** Metrics have a row for each. No row contains a text that a peer chose. */
export type Refusal = (typeof refusals)[number] | (typeof listenerRefusals)[number];

/** A reason from the line is one of these; every other text becomes `other`. */
export function refusalOf(reason: string): Refusal {
  return refusals.find((refusal) => refusal === reason) ?? 'other';
}
