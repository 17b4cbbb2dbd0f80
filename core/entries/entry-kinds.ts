/**
 * The registry: every kind of entry that nodes send each other, one row for each kind. These parts follow from the registry: the types, the functions that
 * make and parse keys, the types of attributes, the checks of both directions, and the tables of docs/architecture.md.
 *
 * In the tables, `S` is a source: the path of the node that has the space (dots for colons, `center` for the center), a dot, and the name of the space.
 */

import * as z from 'zod';
import { decodeLabelSummary } from '../match/label-summary.ts';
import { decodeChecked } from '../object/checked.ts';
import { readStatusPartial } from '../summary/status-partial-wire.ts';
import { readUserPartial } from '../summary/user-partial-wire.ts';
import { auxiliaryObject, inventoryBody, kubeObject, placementBody, reportRules } from './bodies.ts';
import * as down from './down-attributes.ts';
import type { CheckedEntry, EntryKind } from './entry-kind.ts';
import { checkPartial } from './partial-check.ts';
import * as up from './up-attributes.ts';
import { checkWholeObject } from './whole-objects.ts';

const nothing = z.looseObject({});

export const entryKinds = {
  tree: {
    form: 'tree',
    from: 'parent',
    to: 'relay',
    attributes: down.tree,
    is: "the receiver's path, and the labels that Locations below inherit from the receiver and from all relays above the receiver",
  },
  placement: {
    form: 'p/{id}',
    from: 'parent',
    attributes: down.placement,
    ofSpace: true,
    body: (role) => (role === 'relay' ? placementBody : undefined),
    is: 'an EdgePlacement; the body is the object, canonical, without status',
  },
  object: {
    form: 'o/{source}/{object}',
    from: 'parent',
    attributes: down.object,
    ofSpace: true,
    overtakes: true,
    body: (role, attributes) => (role === 'agent' || isMadeHere(attributes) ? kubeObject : undefined),
    is: 'an object to deliver; the body is the object, canonical, without the fields that only its space knows',
  },
  auxiliary: {
    form: 'a/{source}/{object}',
    from: 'parent',
    to: 'relay',
    attributes: down.auxiliary,
    ofSpace: true,
    body: () => auxiliaryObject,
    is: 'a Customizer or StatusSummarizer that delivered objects use; the body is the Customizer or StatusSummarizer',
  },
  target: {
    form: 't/{id}',
    from: 'parent',
    attributes: down.target,
    ofSpace: true,
    is: 'the revision of the space at which the objects of the placement last changed; sent after all these objects',
  },
  grant: {
    form: 'g/{id}',
    from: 'parent',
    to: 'relay',
    attributes: down.grant,
    is: "allows the part of the placement's move that the child reported with this sequence",
  },
  handed: {
    form: 'h/{id}',
    from: 'parent',
    to: 'agent',
    attributes: down.handed,
    is: 'the newest release, and whether the agent was handed its candidate; only replicas send it, because the agent may change to another replica',
  },
  keep: {
    form: 'k/{source}/{object}',
    from: 'parent',
    to: 'agent',
    attributes: nothing,
    is: 'the sender cannot make the object and has no earlier form of it, so the agent leaves the object as it is',
  },
  withdrawn: {
    form: 'w/{id}',
    from: 'parent',
    to: 'agent',
    attributes: down.withdrawn,
    is: 'the placement was removed from the agent; the agent answers with `gone/` when all objects are gone',
  },
  rules: {
    form: 'u/{id}',
    from: 'parent',
    attributes: nothing,
    ofSpace: true,
    body: () => reportRules,
    is: 'what agents report in addition to the state of placed objects; the body is `{associated, upsync}`; only placements with these rules have this entry',
  },
  promoted: {
    form: 'q/{id}/{object}',
    from: 'parent',
    to: 'relay',
    attributes: down.promoted,
    ofSpace: true,
    body: (_role, attributes) => {
      const { promoted } = attributes as down.PromotedAttributes;
      return promoted && isMadeHere(promoted) ? kubeObject : undefined;
    },
    is: 'an object as it was at the last promotion of the placement; the body is that object; no `promoted`: the placement did not have the object',
  },
  promotedCustomizer: {
    form: 'c/{id}/{object}',
    from: 'parent',
    to: 'relay',
    attributes: down.promotedCustomizer,
    ofSpace: true,
    body: (_role, attributes) => ('absent' in attributes ? undefined : auxiliaryObject),
    is: 'a Customizer as it was at the last promotion of the placement; the body is that Customizer; `absent`: the placement did not use it',
  },
  release: {
    form: 'r/{id}',
    from: 'parent',
    to: 'relay',
    attributes: down.release,
    ofSpace: true,
    is: 'a release of the placement, with the wave that last hops may hand out (`core/rollout/release.ts`)',
  },
  incarnations: {
    form: 'revision-gaps/{source}',
    from: 'parent',
    attributes: down.incarnations,
    is: 'the revision gaps of the space of S, as ranges `[had, from]`; no entry: the node of S has no such space, or no longer',
  },
  approval: {
    form: 'approval/{path}',
    from: 'parent',
    attributes: down.approval,
    is: 'a person has approved: the node at PATH may delete the rows that it holds under this token; sent only to the child on the way to PATH',
  },
  revoked: {
    form: 'revoked',
    from: 'parent',
    attributes: down.revoked,
    is: 'the users and the paths of nodes whose certificates were revoked here or above, with the time; no entry: there are none',
  },
  authorities: {
    form: 'authorities',
    from: 'parent',
    attributes: down.authorities,
    is: 'the authorities of nodes, with the introductions of new ones, and the authority with which the parent signs; no entry: each node trusts those of its files',
  },
  metrics: {
    form: 'metrics',
    from: 'parent',
    attributes: down.metricsIssuers,
    is: 'the nodes above whose tokens for metrics are good, with their public keys and the ServiceAccounts; no entry: there are none',
  },
  inventory: {
    form: 'i/{source}/{syncTarget}',
    from: 'parent',
    to: 'relay',
    attributes: down.inventory,
    ofSpace: true,
    body: () => inventoryBody,
    is: 'the agent of a SyncTarget of an inventory space; the body is that SyncTarget and the Locations that select it; sent only to the relay on the way to the agent',
  },
  owner: {
    form: 'owner/{child}',
    from: 'parent',
    to: 'relay',
    attributes: down.owner,
    is: 'the replica that owns this child, and whether it may count the child yet; sent to all replicas',
  },
  matched: {
    form: 'matched',
    from: 'parent',
    to: 'relay',
    attributes: down.matched,
    is: 'the hash of the newest label summary of the receiver that is fully answered: all entries that this summary matches, here and above, were sent before this one',
  },
  replicas: {
    form: 'replicas',
    from: 'parent',
    to: 'relay',
    attributes: down.replicas,
    is: "the number of the parent's newest decision about owners (`term`), and the replica that counts each child without an `owner/` entry (`lead`)",
  },
  labels: {
    form: 'labels',
    from: 'child',
    by: 'relay',
    check: ({ attributes, body }) => {
      if (body.length > 0) decodeLabelSummary(body);
      decodeLabelSummary(attributes);
    },
    is: 'the label summary of the subtree; the body is the owned label summary if it is smaller (only at replicas), otherwise empty',
  },
  partial: {
    form: 'partial/{id}',
    from: 'child',
    check: ({ body }, reporter) => checkPartial(reporter, body),
    is: 'the body is the partial of the built-in summary (`core/summary/partial.ts`)',
  },
  has: {
    form: 'has/{id}',
    from: 'child',
    by: 'agent',
    attributes: up.has,
    is: "a copy of the agent's `h/` entry, so that the agent's next parent knows the release; the agent reports it to each parent that it attaches to; the parent keeps it",
  },
  gone: {
    form: 'gone/{id}',
    from: 'child',
    by: 'agent',
    attributes: up.gone,
    is: 'no object of the placement is left on the cluster; the parent keeps it',
  },
  summary: {
    form: 'sum/{id}/{summarizer}',
    from: 'child',
    by: 'relay',
    check: (entry) => void readUserPartial(entry),
    is: 'the body is the partial of a summary that a user defines (`core/summary/user-partial-wire.ts`)',
  },
  state: {
    form: 'state/{source}/{object}',
    from: 'child',
    by: 'agent',
    attributes: up.state,
    overtakes: true,
    check: checkStatus,
    is: "the state of a delivered object; the body is the object's `.status`; the parent keeps it",
  },
  associated: {
    form: 'assoc/{source}/{object}',
    from: 'child',
    by: 'agent',
    attributes: up.associated,
    overtakes: true,
    check: checkWholeObject,
    is: 'an object that a placed object owns; the body is the whole object, canonical, as its cluster has it; the parent keeps it',
  },
  upsynced: {
    form: 'up/{source}/{path}/{object}',
    from: 'child',
    attributes: up.upsynced,
    check: checkWholeObject,
    is: 'an object that was created at the edge cluster of PATH; the body is the whole object; with `returnTo: Center`, each node passes it on, up to the node of S',
  },
  aggregate: {
    form: 'aggregate/{source}/{object}',
    from: 'child',
    by: 'relay',
    attributes: up.aggregate,
    check: (entry) => void readStatusPartial(entry),
    is: 'the state of an object at the destinations below the relay; the body is the status partial (`core/summary/status-partial-wire.ts`)',
  },
  seen: {
    form: 'seen/{source}',
    from: 'child',
    attributes: up.seen,
    is: 'the newest revision of S, a source above, that the subtree has received; reported at each attachment',
  },
  node: {
    form: 'node/{path}',
    from: 'child',
    attributes: up.node,
    is: "the Node object's status",
  },
  ownRevoked: {
    form: 'own-revoked',
    from: 'child',
    by: 'relay',
    attributes: down.revoked,
    is: 'the users and the paths of nodes that were revoked at the reporting replica itself; the parent passes them to the other replicas (only replicas)',
  },
  attach: {
    form: 'attach/{child}',
    from: 'child',
    by: 'relay',
    attributes: up.attach,
    is: 'this child has attached to the reporting replica (only replicas; the parent keeps it)',
  },
  replicaTerm: {
    form: 'term',
    from: 'child',
    by: 'relay',
    attributes: up.replicaTerm,
    is: 'the decision about owners (`replicas`) that the replica has carried out: its entries before this one do not count children of other owners (only replicas; the parent keeps it)',
  },
} as const satisfies Readonly<Record<string, EntryKind>>;

export type EntryType = keyof typeof entryKinds;

/** Whether last hops make a different form of this object for each agent. For this, a relay has to parse the object. */
function isMadeHere(attributes: object): boolean {
  const { customizers, expand } = attributes as Pick<down.ObjectAttributes, 'customizers' | 'expand'>;
  return expand === true || (customizers?.length ?? 0) > 0;
}

const statusBody = z.record(z.string(), z.unknown());

/** Checks that the body is an object's status, or empty: summaries and aggregates parse it. */
function checkStatus({ key, body }: CheckedEntry): void {
  if (body.length > 0) decodeChecked(`the status of ${key}`, statusBody, body);
}
