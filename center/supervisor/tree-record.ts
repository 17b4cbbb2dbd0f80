/**
 * The record of a data directory about the tree that runs in it: the nodes that run, and the work that a change of the topology has begun. The topology file belongs
 * to people, and does not have these facts. So a change that was interrupted goes on, whichever process ended.
 */
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { dottedPath, isBelow } from '../../core/identity/node-path.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { type DataDirectory, readJson } from './data-directory.ts';

/** A topology as a supervisor takes it. Files are absolute. */
export interface WantedTree {
  readonly name: string;
  readonly nodes: readonly PlannedNode[];
  readonly logs?: LogRotation | undefined;
  /** Ids of nodes that go on with the store of another id: `{'us:store-17': 'eu:store-17'}`. */
  readonly moved: Readonly<Record<string, string>>;
  /** Ids of nodes that run no more, and that their parents still know. A node below one of them is not listed. */
  readonly withdraw: readonly string[];
}

export interface TreeRecord extends WantedTree {
  /** When the parents were told to forget the node, in ms of the wall clock. A certificate from before is refused. Keyed by path. */
  readonly removedAtMs: Readonly<Record<string, number>>;
}

export function readRecord(data: DataDirectory): TreeRecord | undefined {
  return readJson<TreeRecord>(data.tree);
}

export function writeRecord(data: DataDirectory, record: TreeRecord): void {
  writeWhole(data.tree, JSON.stringify(record));
}

/** Returns the record that follows: it keeps what is known about nodes that are gone. */
export function nextRecord(before: TreeRecord | undefined, wanted: WantedTree, wallMs: number): TreeRecord {
  const done = (before?.withdraw ?? []).filter((id) => !wanted.withdraw.includes(id));
  return {
    ...wanted,
    removedAtMs: { ...before?.removedAtMs, ...Object.fromEntries(done.map((id) => [id, wallMs])) },
  };
}

/** Returns those of the ids that are not below another one. */
export function topmost(ids: readonly string[]): string[] {
  return ids.filter((id) => !ids.some((other) => isBelow(id, other)));
}

/**
 * Brings the stores of nodes that have moved to their new places, with their keys. The former processes must have ended. A store that has arrived already stays.
 */
export function moveStores(data: DataDirectory, moved: Readonly<Record<string, string>>): void {
  for (const [to, from] of Object.entries(moved)) {
    for (const placeOf of [(id: string) => data.keys(id), (id: string) => data.store(id)]) {
      if (!existsSync(placeOf(to)) && existsSync(placeOf(from))) rename(placeOf(from), placeOf(to));
    }
  }
}

/** Puts the stores of removed nodes aside. Nothing is deleted: a person may want the data back. `wallMs` is in the name, because a name may be removed twice. */
export function setStoresAside(data: DataDirectory, ids: readonly string[], wallMs: number): void {
  for (const id of ids) {
    const aside = `${data.removed}/${dottedPath(id)}-${wallMs}`;
    if (existsSync(data.store(id))) rename(data.store(id), `${aside}/store`);
    if (existsSync(data.keys(id))) rename(data.keys(id), `${aside}/keys`);
  }
}

function rename(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  renameSync(from, to);
}
