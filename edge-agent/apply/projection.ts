/**
 * What a cluster holds at the fields that were applied, and nothing else. Its fingerprint is taken from the answer to an
 * apply; a later object with another fingerprint has drifted. Comparing with the answer and not with what was sent leaves aside all that a
 * server makes of a value on the way in (quantities, defaults, webhooks), so that no object is put back for ever.
 */
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';

/**
 * Hex; equal for two states of the live object exactly when they agree at every field of `applied`. The apiVersion is left aside: an
 * answer comes in the version that was sent, a watch in the one that the cluster prefers.
 */
export function fingerprint(applied: KubeObject, live: KubeObject): string {
  const { apiVersion: _version, kind: _kind, status: _status, metadata, ...rest } = applied;
  const { labels, annotations } = metadata;
  const wanted = { ...rest, metadata: { ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) } };
  return Buffer.from(hash128(stableStringify(project(wanted, live)))).toString('hex');
}

/** `live` reduced to the fields that `wanted` names; what is missing there is null. */
function project(wanted: unknown, live: unknown): unknown {
  if (Array.isArray(wanted)) return Array.isArray(live) ? projectList(wanted, live) : null;
  if (isRecord(wanted)) {
    if (!isRecord(live)) return null;
    const fields = Object.keys(wanted).filter((name) => name !== 'stringData');
    return Object.fromEntries(fields.map((name) => [name, project(wanted[name], live[name])]));
  }
  return live ?? null;
}

/** Items with a name are found by it, wherever they stand; a list without names is compared whole. */
function projectList(wanted: readonly unknown[], live: readonly unknown[]): unknown {
  if (!wanted.every((item) => nameOf(item) !== undefined)) {
    if (wanted.length !== live.length) return live;
    return wanted.map((item, index) => project(item, live[index]));
  }
  return wanted.map((item) =>
    project(
      item,
      live.find((other) => nameOf(other) === nameOf(item)),
    ),
  );
}

function nameOf(item: unknown): string | undefined {
  return isRecord(item) && typeof item.name === 'string' ? item.name : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
