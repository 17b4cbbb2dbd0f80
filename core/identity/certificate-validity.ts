/** How long certificates last, and when they are renewed. Without what makes them, so that a configuration may name it. */
import type { X509Certificate } from 'node:crypto';
import * as z from 'zod';

const dayMs = 86_400_000;

/** Of nodes, agents and users: a year, and a month in which somebody notices. */
export const leafDays = 397;
export const leafMs = leafDays * dayMs;

/** What is left then is enough for a site to be away for months, and for whoever renews to fail many times. */
const renewAfter = 2 / 3;

/** Clocks of other machines may be behind: by an hour, or by a tenth of a life that is short. */
const backdateMsMax = 3_600_000;
const backdatePart = 1 / 10;

/** Of a relay's configuration and of a topology alike: of what a relay's issuer signs. */
export const issuedSchema = z.strictObject({
  certificateSeconds: z
    .number()
    .int()
    // In the last third of a minute a renewal is tried ten times; of less, an agent that dials again has nothing left.
    .min(60)
    .max(leafMs / 1_000)
    .optional()
    .describe(
      'How long the certificates last that agents get here; 397 days if left out. They are renewed after two thirds: at 20 a second at most, and clocks may differ by a tenth of it.',
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
  // Node 20 has them as text alone.
  const [fromMs, endsAtMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return { renewAtMs: fromMs + (endsAtMs - fromMs) * renewAfter, endsAtMs };
}
