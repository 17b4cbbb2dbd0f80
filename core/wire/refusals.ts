/** The reasons why a connection never became a session: a bounded set of codes. Nodes send the codes, and metrics count them. */

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
 * The reasons why a connection never became a session. At the parent: the reason that the parent sent to the child, or why the parent closed the connection
 * without a reason. At the child: the reason that the child received, or why it could not accept the parent's answer.
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
  'revoked',
  'other',
] as const;
/** The metrics have one row for each reason. A peer can't choose the text of a row. */
export type Refusal = (typeof refusals)[number] | (typeof listenerRefusals)[number];

/** The reason with this text. Every unknown text becomes `other`, because the peer chose the text. */
export function refusalOf(reason: string): Refusal {
  return refusals.find((refusal) => refusal === reason) ?? 'other';
}
