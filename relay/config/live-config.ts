/** Which parts of a configuration a node takes while it runs. Every other part needs a restart. */
import { hash128 } from '../../core/object/hash.ts';
import { equalJson } from '../../core/object/json-value.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { hex } from '../../core/store/bytes.ts';
import type { NodeConfig } from './config.ts';

/** These parts change whenever something is added to the tree or removed from it. A restart would end the sessions of all children. */
const liveFields = ['inventory', 'relays', 'children', 'spaces'] as const;

export type LiveConfig = Pick<NodeConfig, (typeof liveFields)[number]>;

/** Returns the names of the parts that differ. Both are objects of a configuration file. */
export function differentFields(before: object, after: object): string[] {
  const [a, b] = [before, after] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((field) => !equalJson(a[field], b[field]));
}

/** Returns whether a running node can take the difference. */
export function isLive(fields: readonly string[]): boolean {
  return fields.every((field) => (liveFields as readonly string[]).includes(field));
}

/**
 * The parts of `after` that a running node takes. Both are of the node's file; `before` is the one of the start. Throws BadRequest if a part differs that needs a
 * restart.
 */
export function liveConfig(before: NodeConfig, after: NodeConfig): LiveConfig {
  const others = differentFields(before, after).filter((field) => !isLive([field]));
  const { inventory, relays, children, spaces } = after;
  if (others.length === 0) return { inventory, relays, children, spaces };
  throw new BanyanError(
    'BadRequest',
    `${others.join(', ')}: the running node keeps its whole former configuration, because these parts change only at a start: restart the node`,
  );
}

/** Identifies the text of a configuration file. A node shows the hash of the text that it has taken. */
export function configHash(text: string): string {
  return hex(hash128(text));
}
