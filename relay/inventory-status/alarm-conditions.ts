/** The conditions of a Node object for alarms of its node or of its parent. A condition is left out until it was True once. */

import type { DivergedAttributes, TroubleAttributes, WaitsAttributes } from '../../core/entries/up-attributes.ts';
import type { Shortage } from '../../core/feed/row-quota.ts';
import type { RefusedClaims } from '../../core/match/allowed-summary.ts';
import { type NewCondition, timestamp } from '../../core/object/conditions.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import { feedCondition } from './feed-condition.ts';

/** The limit of https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition. */
const messageMax = 32_768;

export interface Alarms {
  /** A difference in a feed of which this node has one end. */
  readonly diverged?: Divergence | undefined;
  /** A difference in the feed from the parent of the shown node, as that node reports it. */
  readonly reportedDiverged?: DivergedAttributes | undefined;
  /** Another process with the identity of the node and another store has connected. */
  readonly cloned?: Divergence | undefined;
  readonly diskLow?: boolean | undefined;
  /** Set while the node accepts nothing from its parent, which is one of several replicas. */
  readonly waits?: WaitsAttributes | undefined;
  /** Trouble with an agent's cluster, as the agent reports it. */
  readonly trouble?: TroubleAttributes | undefined;
  /** The limit of an agent for which the agent's work waits, as the agent reports it. */
  readonly limit?: TroubleAttributes | undefined;
  /** The reason why a node's certificate is not renewed, as the node reports it. */
  readonly certificateTrouble?: TroubleAttributes | undefined;
  /** Labels and properties that a relay reports and may not claim. */
  readonly refusedClaims?: RefusedClaims | undefined;
  /** Reported entries that the quota of the child refused. */
  readonly shortage?: Shortage | undefined;
}

export function alarmConditions(alarms: Alarms): readonly NewCondition[] {
  const {
    diverged,
    reportedDiverged,
    cloned,
    diskLow,
    waits,
    trouble,
    limit,
    certificateTrouble,
    refusedClaims,
    shortage,
  } = alarms;
  const reported = reportedDiverged && { atMs: Date.parse(reportedDiverged.at), what: reportedDiverged.what };
  return [
    feedCondition(diverged ?? reported),
    cloneCondition(cloned),
    diskCondition(diskLow ?? false),
    waitsCondition(waits),
    reportedCondition('ClusterTrouble', trouble),
    reportedCondition('LimitReached', limit),
    reportedCondition('CertificateTrouble', certificateTrouble),
    claimsCondition(refusedClaims),
    quotaCondition(shortage),
  ];
}

/** Keyed by the type of the condition: the reason and message while the agent reports no trouble. */
const untroubled = {
  ClusterTrouble: { reason: 'Usable', message: 'the agent reaches its cluster' },
  LimitReached: { reason: 'WithinLimits', message: 'nothing waits for a limit of the agent' },
  CertificateTrouble: { reason: 'Renewed', message: 'the certificate of the node is renewed in time' },
  SourceNotAccepted: { reason: 'AllAccepted', message: 'the site accepts everything that is sent to it' },
  SourceConflict: { reason: 'NoConflict', message: 'each object comes from one source' },
  DescriptionIncomplete: { reason: 'Whole', message: 'the agent could read everything that it reports' },
};

/** Returns a condition of the Node and of the SyncTarget of an agent. */
export function reportedCondition(type: keyof typeof untroubled, report: TroubleAttributes | undefined): NewCondition {
  return report ? { type, status: 'True', ...reasonOf(report) } : { type, status: 'False', ...untroubled[type] };
}

/** Returns a reason and a message that an API server accepts: they come from another process, which may send anything. */
function reasonOf({ reason, message }: TroubleAttributes): TroubleAttributes {
  return {
    reason: /^[A-Za-z][A-Za-z0-9]{0,100}$/.test(reason) ? reason : 'Unknown',
    message: message.slice(0, messageMax),
  };
}

function waitsCondition(waits: WaitsAttributes | undefined): NewCondition {
  const type = 'WaitsForParent';
  if (!waits)
    return { type, status: 'False', reason: 'Follows', message: 'the node accepts everything that its parent sends' };
  return {
    type,
    status: 'True',
    reason: 'ParentIsBehind',
    message: `has accepted nothing from this parent since ${waits.since}: ${waits.for}. It keeps what it has until the parent has caught up. Look at the session of the parent with its own parent, or stop the parent: the child then goes to another replica`,
  };
}

function cloneCondition(cloned: Divergence | undefined): NewCondition {
  const type = 'CloneRefused';
  if (!cloned)
    return { type, status: 'False', reason: 'OneOfItsKind', message: 'no copy of this node has connected lately' };
  return {
    type,
    status: 'True',
    reason: 'Clone',
    message: `a copy of this node was refused at ${timestamp(cloned.atMs)}: ${cloned.what}. Stop the copy, or give it a name and a store of its own; this is shown for a day`,
  };
}

function claimsCondition(refused: RefusedClaims | undefined): NewCondition {
  const type = 'ClaimsRefused';
  if (!refused)
    return { type, status: 'False', reason: 'AllAllowed', message: 'the node claims only what it may claim' };
  const { count, sample } = refused;
  return {
    type,
    status: 'True',
    reason: 'BeyondClaims',
    message: `the node reports ${count} labels or properties that it may not claim, and they have no effect here: ${sample.join(', ')}${count > sample.length ? ', …' : ''}. To allow them, write spec.claims of this object; if nobody set them, the key of the node may be stolen`,
  };
}

function quotaCondition(shortage: Shortage | undefined): NewCondition {
  const type = 'QuotaExceeded';
  if (!shortage)
    return { type, status: 'False', reason: 'WithinQuota', message: 'everything that it reports is stored' };
  const { refused, key, reason } = shortage;
  return {
    type,
    status: 'True',
    reason: 'Refused',
    message: `the parent has refused ${refused} reported entries, the newest of them "${key}": ${reason}. What was reported before stays. The parent takes the refused entries by itself when the node reports less, or when spec.quota of this object allows more`,
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
