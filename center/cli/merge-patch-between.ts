/** The merge patch (RFC 7396) that makes one value of another. A key that is gone becomes null, so a patch removes exactly what differs. */
import { equalJson, ownField } from '../../core/object/json-value.ts';
import { isRecord } from '../../core/runtime/is-record.ts';

/** Values without null inside: a merge patch can't write null. */
export function mergePatchBetween(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after)) return after ?? null;
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    keys
      .map((key) => [key, ownField(before, key), ownField(after, key)] as const)
      .filter(([, former, next]) => !equalJson(former, next))
      .map(([key, former, next]) => [key, mergePatchBetween(former, next)]),
  );
}
