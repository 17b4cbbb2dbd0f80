import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stableStringify } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { aggregatedStatus } from '../../core/summary/aggregated-status.ts';
import { shownReplicaSet, shownReplicaSetStatus } from '../../relay/spaces/shown-replica-set.ts';
import {
  type AggregateCase,
  aggregateCase,
  caseKinds,
  hasFailed,
  isComplete,
  isUnread,
} from '../support/aggregate-cases.ts';
import { type Tool, tools, type Verdict, verdictsOf, withoutToolHealth } from '../support/tool-health.ts';

const why = withoutToolHealth ? ` [not run: ${withoutToolHealth}]` : '';
/** Enough for each combination of two destinations of each kind. The seed is fixed: the program is asked once, so nothing is shrunk. */
const sample = { numRuns: 1_500, seed: 37 };

/** The object with its aggregated status. A Deployment comes with the ReplicaSet that its space shows. */
function shown({ rules, object, partial }: AggregateCase): KubeObject[] {
  const status = aggregatedStatus({ rules, object, partial, isRolledBack: false });
  const one = status ? { ...object, status } : object;
  if (one.kind !== 'Deployment') return [one];
  const replicaSet = shownReplicaSet(one, 1);
  const metadata = { ...replicaSet.metadata, generation: 1 };
  return [one, { ...replicaSet, metadata, status: shownReplicaSetStatus(one, 1) }];
}

interface Expected {
  readonly isReady: boolean;
  readonly isFailed: boolean;
}

function expectedOf(kind: string, tool: Tool, one: AggregateCase): Expected {
  const isAvailable = one.states.every(({ standing }) => standing === 'available');
  const isFailed = one.states.some(hasFailed);
  if (isUnread(one.object)) return { isReady: isAvailable, isFailed: false };
  if (kind !== 'Job') return { isReady: isAvailable, isFailed };
  const asksForStart = tool === 'flux' || tool === 'kstatus';
  // Tools that wait for the end of a Job take it as ready when it is complete everywhere.
  const isEnded = one.states.every(isComplete);
  return { isReady: isEnded || (asksForStart && isAvailable), isFailed };
}

/**
 * What a tool does not look at, also in an ordinary cluster. Each line is in docs/reference/aggregated-status.md.
 * `blind`: the tool takes every object of the kind as ready. `patient`: the tool never takes the object as failed.
 */
const exceptions: Readonly<Record<string, Partial<Record<Tool, 'blind' | 'patient'>>>> = {
  Deployment: { helm3: 'patient', helm3jobs: 'patient' },
  StatefulSet: { kubectl: 'patient', argo: 'patient', helm3: 'patient', helm3jobs: 'patient' },
  DaemonSet: { kubectl: 'patient', argo: 'patient', helm3: 'patient', helm3jobs: 'patient' },
  ReplicaSet: { helm3: 'blind', helm3jobs: 'blind' },
  Job: { helm3: 'blind', helm3jobs: 'patient' },
  Pod: { helm3: 'patient', helm3jobs: 'patient', argo: 'patient' },
  // The addresses stay while a destination is away. helm 3 and Argo CD look only at the addresses.
  Service: { argo: 'blind', helm3: 'blind', helm3jobs: 'blind' },
  Ingress: { argo: 'blind', helm3: 'blind', helm3jobs: 'blind' },
  HorizontalPodAutoscaler: { argo: 'patient', helm3: 'blind', helm3jobs: 'blind' },
  PodDisruptionBudget: { helm3: 'blind', helm3jobs: 'blind' },
  CronJob: { helm3: 'blind', helm3jobs: 'blind' },
  PersistentVolumeClaim: { argo: 'patient', helm3: 'patient', helm3jobs: 'patient' },
};

function wrong(kind: string, tool: Tool, one: AggregateCase, { verdict, message }: Verdict): string | undefined {
  const exception = exceptions[kind]?.[tool];
  if (verdict === 'none' || exception === 'blind') return undefined;
  const { isReady, isFailed } = expectedOf(kind, tool, one);
  const isRight = (verdict === 'ready') === isReady && (exception === 'patient' || (verdict === 'failed') === isFailed);
  if (isRight) return undefined;
  const standings = one.states.map(({ standing, isCurrent }) => `${standing}${isCurrent ? '' : ' (former)'}`);
  const { replicas = '' } = one.object.spec as { replicas?: number };
  return `${tool} says ${verdict} ${message ?? ''} of ${replicas} ${standings}: ${stableStringify(shown(one)[0]!.status ?? null)}`;
}

describe.skipIf(withoutToolHealth)(`the own code of the tools${why}`, () => {
  it.each(Object.entries(caseKinds))(
    'says of a %s that it is ready exactly when it is available at every destination, and failed when it has failed at one',
    async (kind, of) => {
      const cases = fc.sample(aggregateCase(of), sample);
      const verdicts = await verdictsOf(cases.map(shown));
      expect(verdicts).toHaveLength(cases.length);
      const mistakes = tools.flatMap((tool) => {
        const found = cases.flatMap((one, i) => wrong(kind, tool, one, verdicts[i]![tool]) ?? []);
        return found.slice(0, 2);
      });
      expect(mistakes).toEqual([]);
      // Both results occur, so the comparison is not empty.
      const ready = verdicts.filter(({ kstatus }) => kstatus.verdict === 'ready').length;
      expect([ready > 50, ready < cases.length - 50]).toEqual([true, true]);
    },
    60_000,
  );
});
