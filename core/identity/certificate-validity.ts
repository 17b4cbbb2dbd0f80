/**
 * How long certificates last and when they are renewed. This file does not import the code that makes certificates, so that a configuration can import the
 * file at low cost.
 */
import type { X509Certificate } from 'node:crypto';
import * as z from 'zod';

export const dayMs = 86_400_000;

/** Certificates of nodes, agents and users last one year and one month. The month is the time in which a person can notice that a renewal fails. */
export const leafDays = 397;
export const leafMs = leafDays * dayMs;

/**
 * A certificate ends with its issuer at the latest. An issuer is renewed after two thirds of its validity. An issuer lasts twice as long as a leaf, so that
 * a leaf signed just before this renewal still has two thirds of its own validity.
 */
export const issuerMs = 2 * leafMs;

/**
 * Fraction of the validity after which a certificate is renewed. In the remaining third, a site may be disconnected for months, and a renewal may fail many
 * times.
 */
const renewAfter = 2 / 3;

/**
 * A certificate is valid from a time in the past, because the clocks of other machines may be slow. This constant bounds the difference to one hour; for a
 * short validity, the difference is a tenth.
 */
export const backdateMsMax = 3_600_000;
const backdatePart = 1 / 10;

/** Options for the certificates that a relay's issuer signs. Both the configuration of a relay and a topology contain them. */
export const issuedSchema = z.strictObject({
  certificateSeconds: z
    .number()
    .int()
    // With one minute, an agent tries a renewal ten times in the last third of the validity. With less, an agent that has to dial again would not have
    // enough time.
    .min(60)
    .max(leafMs / 1_000)
    .optional()
    .describe(
      'How long the certificates last that agents get at this node. The default is 397 days. Agents renew them after two thirds of this time, at most 20 agents in one second. Clocks may differ by a tenth of this time.',
    ),
});

export type Issued = z.infer<typeof issuedSchema>;

export function validityFrom(nowMs: number, lifeMs: number): { notBefore: Date; notAfter: Date } {
  const backdateMs = Math.min(backdateMsMax, lifeMs * backdatePart);
  return { notBefore: new Date(nowMs - backdateMs), notAfter: new Date(nowMs + lifeMs) };
}

export interface CertificateValidity {
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

export function validityOf({
  validFrom,
  validTo,
}: Pick<X509Certificate, 'validFrom' | 'validTo'>): CertificateValidity {
  // Node 20 gives the dates only as text.
  const [fromMs, endsAtMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return { renewAtMs: fromMs + (endsAtMs - fromMs) * renewAfter, endsAtMs };
}
