/** The report of an agent about itself: the attributes of its `node/` row. */

import { heldAttributes } from '../../core/entries/deletion-guard.ts';
import type { QuarantinedAttributes, TroubleAttributes } from '../../core/entries/up-attributes.ts';
import type { HeldRows } from '../../core/feed/deletions.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import { type WatermarkWait, waitsAttributes } from '../../core/session/watermark-gate.ts';
import { text } from '../../core/store/bytes.ts';
import type { ReportedTrust } from '../../core/wire/tree-trust.ts';
import type { SourceTroublesReport } from '../desired/source-troubles.ts';
import type { UpFeedEntry } from '../outbox/outbox.ts';

export interface NodeFacts {
  readonly version: string;
  /** The description of the cluster (self-description.ts). */
  readonly description: object;
  /** Which of the agent's own limits its work waits for. */
  readonly limit: TroubleAttributes | undefined;
  /** The rows that the agent keeps although its parent lacks them, or the objects that it keeps although nobody wants them. */
  readonly held: HeldRows | undefined;
  readonly quarantined: QuarantinedAttributes | undefined;
  readonly diverged: Divergence | undefined;
  readonly waiting: WatermarkWait | undefined;
  readonly certificateTrouble: TroubleAttributes | undefined;
  readonly trust: ReportedTrust | undefined;
  /** The objects that the site refuses, and those that several sources want. */
  readonly sources: SourceTroublesReport;
  readonly isDiskLow: boolean;
  /** Whether objects are at the cluster that the agent has delivered. */
  readonly hasDelivered: boolean;
}

export function nodeReport(facts: NodeFacts): UpFeedEntry {
  const {
    version,
    description,
    limit,
    held,
    quarantined,
    diverged,
    waiting,
    certificateTrouble,
    trust,
    sources,
    isDiskLow,
    hasDelivered,
  } = facts;
  const attributes = {
    role: 'agent',
    version,
    ...description,
    ...(limit ? { limit } : {}),
    ...heldAttributes(held),
    ...(quarantined ? { quarantined } : {}),
    ...(diverged ? { diverged: { at: timestamp(diverged.atMs), what: diverged.what } } : {}),
    ...waitsAttributes(waiting),
    ...(certificateTrouble ? { certificateTrouble } : {}),
    ...trust,
    ...sources,
    ...(isDiskLow ? { diskLow: true } : {}),
    ...(hasDelivered ? { delivered: true } : {}),
  };
  return { attributes: text(stableStringify(attributes)), body: new Uint8Array(0) };
}
