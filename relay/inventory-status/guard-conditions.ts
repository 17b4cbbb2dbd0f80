/**
 * The conditions of a Node object about held entries, quarantined entries, and spaces whose store was restored from an older copy or emptied; and the Events
 * that are written when these conditions change. (A held entry is one that the node keeps although its parent lacks it.)
 */

import type { Space } from '../../core/apiserver/space.ts';
import type { HeldAttributes, QuarantinedAttributes, RolledBackAttributes } from '../../core/entries/up-attributes.ts';
import { shownPath } from '../../core/identity/node-path.ts';
import type { NewCondition } from '../../core/object/conditions.ts';
import type { Condition, KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { writeEvent } from './object-event.ts';

export interface GuardReport {
  readonly held?: HeldAttributes;
  /** Entries that the parent keeps in the node's mailbox. */
  readonly heldInMailbox?: HeldAttributes;
  readonly rolledBack?: readonly RolledBackAttributes[];
  /** Bad entries that the node received. */
  readonly quarantined?: QuarantinedAttributes;
  /** Bad entries that the node reported; its parent refused them. */
  readonly refused?: QuarantinedAttributes;
}

const held = 'DeletionHeld';
const rolledBack = 'StoreRolledBack';
const quarantined = 'EntriesQuarantined';
const alarms: readonly string[] = [held, rolledBack, quarantined];

/** Returns all guard conditions, also those that are False. */
export function guardConditions(path: string, node: GuardReport): readonly NewCondition[] {
  return [heldCondition(path, node), rolledBackCondition(path, node.rolledBack ?? []), quarantineCondition(node)];
}

export function conditionsOf(object: KubeObject): readonly Condition[] {
  return (object.status as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}

/** Writes an Event for each guard condition that changes. All conditions of a new Node object count as False before. */
export function writeGuardEvents(space: Space, node: KubeObject, before: KubeObject, wallMs: number): void {
  for (const { type, status, message } of conditionsOf(node)) {
    if (!alarms.includes(type)) continue;
    const statusBefore = conditionsOf(before).find((one) => one.type === type)?.status ?? 'False';
    if (statusBefore === status) continue;
    const isOn = status === 'True';
    const reason = isOn ? type : `${type}Over`;
    writeEvent(
      space,
      node,
      { type: isOn ? 'Warning' : 'Normal', reason, message, component: 'banyan.io/node' },
      wallMs,
    );
  }
}

export function heldCondition(path: string, { held: missing, heldInMailbox }: GuardReport): NewCondition {
  if (!missing && !heldInMailbox)
    return { type: held, status: 'False', reason: 'NothingHeld', message: 'nothing is held' };
  const parts = [
    ...(missing ? [`${counted(missing)}: the parent lacks them: ${sampleOf(missing)}`] : []),
    ...(heldInMailbox
      ? [
          `since ${heldInMailbox.since}, ${heldInMailbox.entries} entries are kept in its mailbox, because the relay reports fewer Locations than before: ${sampleOf(heldInMailbox)}`,
        ]
      : []),
  ];
  const reason = missing ? 'MissingAtParent' : 'FewerPlaces';
  return { type: held, status: 'True', reason, message: `${parts.join('; ')}. ${remedy(path)}` };
}

function counted({ entries, since }: HeldAttributes): string {
  return `${entries} entries are held since ${since}`;
}

function sampleOf({ entries, sample }: HeldAttributes): string {
  return `${sample.join(', ')}${entries > sample.length ? ', …' : ''}`;
}

function quarantineCondition({ quarantined: received, refused }: GuardReport): NewCondition {
  if (!received && !refused) {
    return { type: quarantined, status: 'False', reason: 'NoneQuarantined', message: 'all entries were accepted' };
  }
  const parts = [
    ...(received ? [`${received.count} entries that it received can't be used (${received.sample.join('; ')})`] : []),
    ...(refused ? [`the parent rejected ${refused.count} entries of this node (${refused.sample.join('; ')})`] : []),
  ];
  return {
    type: quarantined,
    status: 'True',
    reason: received ? 'Poisoned' : 'Refused',
    message: `${parts.join('; ')}. The last good form of each entry is used; a new content of the entry ends the quarantine`,
  };
}

function rolledBackCondition(path: string, alarms: readonly RolledBackAttributes[]): NewCondition {
  if (alarms.length === 0) {
    return { type: rolledBack, status: 'False', reason: 'Known', message: 'no loss of a store is known' };
  }
  const losses = alarms.map(
    ({ source, had, seen, since }) =>
      `${source} had revision ${had} when it started, and ${seen} has been seen below (${since})`,
  );
  return {
    type: rolledBack,
    status: 'True',
    reason: 'OlderThanBelow',
    message: `the store was emptied or restored from an older copy: ${losses.join('; ')}. Nodes below keep the entries that only they have. To acknowledge the loss: ${cliCommand('approve-deletions', shownPath(path))}`,
  };
}

function remedy(path: string): string {
  return `To confirm the deletion: ${cliCommand('approve-deletions', shownPath(path))}`;
}
