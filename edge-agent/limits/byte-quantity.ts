/** Numbers of bytes as Kubernetes writes them: `16Mi`. https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
import * as z from 'zod';
import { parseQuantity } from '../../core/match/cel/base/quantity.ts';

const nanos = 1_000_000_000n;

/** Accepts a whole number, or a text such as `16Mi`. The number must not be less than `min`. */
export function bytesSchema(min: number) {
  return z.union([z.number(), z.string()]).transform((written, context) => {
    const bytes = parseQuantity(String(written))?.nanos;
    if (bytes !== undefined && bytes % nanos === 0n && bytes >= BigInt(min) * nanos) return Number(bytes / nanos);
    context.addIssue(`${JSON.stringify(written)} is no number of bytes of ${shownBytes(min)} or more, such as 64Mi`);
    return z.NEVER;
  });
}

export function shownBytes(bytes: number): string {
  return bytes % 2 ** 20 === 0 ? `${bytes / 2 ** 20}Mi` : String(bytes);
}
