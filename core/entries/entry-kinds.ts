/**
 * The registry: every kind of entry that travels, one row for each kind. The types, the making and the parsing of keys, the types of attributes, the checks
 * of both directions and the tables of docs/architecture.md come from the registry.
 *
 * In the tables, `S` is a source: the path of the node that has the space (dots for colons, `center` for the center), a dot, and the name of the space.
 */

import * as z from 'zod';
import { decodeLabelSummary } from '../match/label-summary.ts';
import { decodeChecked } from '../object/checked.ts';
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
    is: "the receiver's path, and the labels that Locations below inherit from the relays above and including the receiver",
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
    is: 'an object to deliver; the body is the object, canonical, without what only its space knows',
  },
  auxiliary: {
    form: 'a/{source}/{object}',
    from: 'parent',
    to: 'relay',
    attributes: down.auxiliary,
    ofSpace: true,
    body: () => auxiliaryObject,
    is: 'a Customizer or StatusSummarizer that these objects use; the body is the object',
  },
  target: {
    form: 't/{id}',
    from: 'parent',
    attributes: down.target,
    ofSpace: true,
    is: 'the revision of the space at which the objects of the placement last changed; sent after every object that it covers',
  },
  grant: {
    form: 'g/{id}',
    from: 'parent',
    to: 'relay',
    attributes: down.grant,
    is: "allows the part of the placement's move that the child reported under this sequence",
  },
  handed: {
    form: 'h/{id}',
    from: 'parent',
    to: 'agent',
    attributes: down.handed,
    is: 'sent to agents that may go to another replica of the sender: the newest release, and whether the agent has its candidate',
  },
  keep: {
    form: 'k/{source}/{object}',
    from: 'parent',
    to: 'agent',
    attributes: nothing,
    is: 'the sender can neither make the object nor has an earlier form of it: the agent keeps the form that it has',
  },
  withdrawn: {
    form: 'w/{id}',
    from: 'parent',
    to: 'agent',
    attributes: down.withdrawn,
    is: 'the placement was taken away; the agent answers with `gone/`',
  },
  rules: {
    form: 'u/{id}',
    from: 'parent',
    attributes: nothing,
    ofSpace: true,
    body: () => reportRules,
    is: 'the body is `{associated, upsync}`: what agents report beside the state of placed objects; only for placements with such rules',
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
    is: 'an object as it was when its placement was promoted last; the body is that object; without `promoted`, there was no such object',
  },
  promotedCustomizer: {
    form: 'c/{id}/{object}',
    from: 'parent',
    to: 'relay',
    attributes: down.promotedCustomizer,
    ofSpace: true,
    body: (_role, attributes) => ('absent' in attributes ? undefined : auxiliaryObject),
    is: 'a Customizer as it was when the placement was promoted last; the body is that Customizer; `absent`: there was no such Customizer',
  },
  release: {
    form: 'r/{id}',
    from: 'parent',
    to: 'relay',
    attributes: down.release,
    ofSpace: true,
    is: 'a release of the placement: what last hops may hand out (`core/rollout/release.ts`)',
  },
  incarnations: {
    form: 'revision-gaps/{source}',
    from: 'parent',
    attributes: down.incarnations,
    is: 'the revision gaps of the space of the source, as ranges `[had, from]`; sent to the direct children of its node',
  },
  approval: {
    form: 'approval/{path}',
    from: 'parent',
    attributes: down.approval,
    is: 'the rows that the node at PATH holds under this token may be deleted; sent to the one child on the way there',
  },
  inventory: {
    form: 'i/{source}/{syncTarget}',
    from: 'parent',
    to: 'relay',
    attributes: down.inventory,
    ofSpace: true,
    body: () => inventoryBody,
    is: 'the agent that a SyncTarget of an inventory space stands for; the body is that SyncTarget and the Locations that select it; sent to the one relay on the way there',
  },
  owner: {
    form: 'owner/{child}',
    from: 'parent',
    to: 'relay',
    attributes: down.owner,
    is: 'which replica owns this child; sent to all replicas',
  },
  matched: {
    form: 'matched',
    from: 'parent',
    to: 'relay',
    attributes: down.matched,
    is: "the hash of the receiver's newest label summary for which all matching entries, from here and above, were sent before this entry",
  },
  replicas: {
    form: 'replicas',
    from: 'parent',
    to: 'relay',
    attributes: down.replicas,
    is: "the number of the parent's newest decision about owners, and the replica that counts the children about which nothing was reported",
  },
  labels: {
    form: 'labels',
    from: 'child',
    by: 'relay',
    check: ({ attributes, body }) => {
      if (body.length > 0) decodeLabelSummary(body);
      decodeLabelSummary(attributes);
    },
    is: 'the label summary of the subtree; the body is the owned label summary where replicas make it smaller, and empty otherwise',
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
    is: 'the `h/` row, reported to every parent to which the agent attaches; stays at the parent',
  },
  gone: {
    form: 'gone/{id}',
    from: 'child',
    by: 'agent',
    attributes: up.gone,
    is: 'nothing of the placement is left on the cluster; stays at the parent',
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
    is: "the state of a delivered object; the body is the object's `.status`; stays at the parent",
  },
  associated: {
    form: 'assoc/{source}/{object}',
    from: 'child',
    by: 'agent',
    attributes: up.associated,
    overtakes: true,
    check: checkWholeObject,
    is: 'an object that a placed object owns; the body is the whole object, canonical, as its cluster has it; stays at the parent',
  },
  upsynced: {
    form: 'up/{source}/{path}/{object}',
    from: 'child',
    attributes: up.upsynced,
    check: checkWholeObject,
    is: 'an object that was born at the edge at PATH; the body is the whole object; goes on to the node of S with `returnTo: Center`',
  },
  status: {
    form: 'status/{id}/{object}',
    from: 'child',
    by: 'relay',
    attributes: up.status,
    check: checkStatus,
    is: "exact status for a placement that matches one destination in all; the body is the object's `.status`",
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
  attach: {
    form: 'attach/{child}',
    from: 'child',
    by: 'relay',
    attributes: up.attach,
    is: 'this child has attached (relays with replicas; stays at the parent)',
  },
  replicaTerm: {
    form: 'term',
    from: 'child',
    by: 'relay',
    attributes: up.replicaTerm,
    is: 'all entries reported before this one leave out the children that the replica does not own by this decision (relays with replicas; stays at the parent)',
  },
} as const satisfies Readonly<Record<string, EntryKind>>;

export type EntryType = keyof typeof entryKinds;

/** The last relay before an agent makes the agent's form of this object, and parses the object for this. */
function isMadeHere(attributes: object): boolean {
  const { customizers, expand } = attributes as Pick<down.ObjectAttributes, 'customizers' | 'expand'>;
  return expand === true || (customizers?.length ?? 0) > 0;
}

const statusBody = z.record(z.string(), z.unknown());

/** The body is an object's status, or empty. Summaries and the exact status of a placement parse it. */
function checkStatus({ key, body }: CheckedEntry): void {
  if (body.length > 0) decodeChecked(`the status of ${key}`, statusBody, body);
}
