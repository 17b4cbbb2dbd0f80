/** What a Node object says of alarms that its node or its parent has: conditions that are not there before they were True once. */

import type { DivergedAttributes, TroubleAttributes, WaitsAttributes } from '../../core/entries/up-attributes.ts';
import { type NewCondition, timestamp } from '../../core/object/conditions.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import { feedCondition } from './feed-condition.ts';

/** Of https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition. */
const messageMax = 32_768;

export interface Alarms {
  /** A feed of which this node has an end. */
  readonly diverged?: Divergence | undefined;
  /** The feed from its parent, as the node itself tells. */
  readonly reportedDiverged?: DivergedAttributes | undefined;
  /** Somebody came with the node's identity and another store. */
  readonly cloned?: Divergence | undefined;
  readonly diskLow?: boolean | undefined;
  /** It takes nothing from its parent, one of several siblings. */
  readonly waits?: WaitsAttributes | undefined;
  /** Of an agent's cluster, as the agent tells. */
  readonly trouble?: TroubleAttributes | undefined;
  /** Which of its own limits an agent's work waits for, as the agent tells. */
  readonly limit?: TroubleAttributes | undefined;
  /** Why an agent's certificate is not renewed, as the agent tells. */
  readonly certificateTrouble?: TroubleAttributes | undefined;
}

export function alarmConditions(alarms: Alarms): readonly NewCondition[] {
  const { diverged, reportedDiverged, cloned, diskLow, waits, trouble, limit, certificateTrouble } = alarms;
  const told = reportedDiverged && { atMs: Date.parse(reportedDiverged.at), what: reportedDiverged.what };
  return [
    feedCondition(diverged ?? told),
    cloneCondition(cloned),
    diskCondition(diskLow ?? false),
    waitsCondition(waits),
    reportedCondition('ClusterTrouble', trouble),
    reportedCondition('LimitReached', limit),
    reportedCondition('CertificateTrouble', certificateTrouble),
  ];
}

/** What an agent tells of itself, by the type of the condition: what is said of it while there is nothing to tell. */
const untold = {
  ClusterTrouble: { reason: 'Usable', message: 'the agent reaches its cluster' },
  LimitReached: { reason: 'WithinLimits', message: 'nothing waits for a limit of the agent' },
  CertificateTrouble: { reason: 'Renewed', message: 'the certificate of the agent is young' },
  DescriptionIncomplete: { reason: 'Whole', message: 'the agent could read everything that it reports' },
};

/** Of the Node of an agent, and of its SyncTarget. */
export function reportedCondition(type: keyof typeof untold, told: TroubleAttributes | undefined): NewCondition {
  return told ? { type, status: 'True', ...reasonOf(told) } : { type, status: 'False', ...untold[type] };
}

/** What another process says is no reason that an API server takes, for sure. */
function reasonOf({ reason, message }: TroubleAttributes): TroubleAttributes {
  return {
    reason: /^[A-Za-z][A-Za-z0-9]{0,100}$/.test(reason) ? reason : 'Unknown',
    message: message.slice(0, messageMax),
  };
}

function waitsCondition(waits: WaitsAttributes | undefined): NewCondition {
  const type = 'WaitsForParent';
  if (!waits) return { type, status: 'False', reason: 'Follows', message: 'it takes what its parent sends' };
  return {
    type,
    status: 'True',
    reason: 'ParentIsBehind',
    message: `takes nothing from this parent since ${waits.since}: ${waits.for}. It keeps what it has until the parent has caught up; look at the session of the parent with its own parent, or stop it, and the child goes to a sibling`,
  };
}

function cloneCondition(cloned: Divergence | undefined): NewCondition {
  const type = 'CloneRefused';
  if (!cloned) return { type, status: 'False', reason: 'OneOfItsKind', message: 'no copy came lately' };
  return {
    type,
    status: 'True',
    reason: 'Clone',
    message: `a copy of this node was refused at ${timestamp(cloned.atMs)}: ${cloned.what}. End the copy, or give it a name and a store of its own; this is shown for a day`,
  };
}

function diskCondition(isLow: boolean): NewCondition {
  const type = 'DiskLow';
  if (!isLow) return { type, status: 'False', reason: 'HasRoom', message: 'the disk of the store has room' };
  return {
    type,
    status: 'True',
    reason: 'NearlyFull',
    message:
      'the disk of its store is nearly full: with less than 16 MiB nothing is stored, sent or acknowledged any more. Make room on it',
  };
}
