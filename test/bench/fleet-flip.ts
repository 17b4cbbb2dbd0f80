/**
 * The pods of all clusters become unavailable at once, and then available again: the time until the built-in summary of the placement, and the `.status` of each
 * object in the space, are exact at the center. Exact means: they count the present state of every cluster.
 */
import type { ChildProcess } from 'node:child_process';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Figure } from './figure.ts';
import type { FleetFlip } from './fleet-children.ts';
import { median } from './measure.ts';
import { ask } from './scratch.ts';

const rounds = 6;
const withinMs = 120_000;
const lookEveryMs = 50;
/** Replicas of each Deployment at each cluster. */
const replicas = 2;

export interface FlipPorts {
  readonly kubeconfig: string;
  readonly space: string;
  /** Where the center's space has the Deployments. */
  readonly deployments: string;
  readonly placement: string;
  readonly clusters: number;
  readonly processes: readonly ChildProcess[];
  progress(line: string): void;
}

export async function flipFigures(ports: FlipPorts): Promise<Figure[]> {
  const api = new NodeApiClient(ports.kubeconfig);
  const summaryMs: number[] = [];
  const statusMs: number[] = [];
  const lateMs: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const times = await flip(api, ports, round % 2 === 0 ? 1 : replicas);
      summaryMs.push(times.summaryMs);
      statusMs.push(times.statusMs);
      lateMs.push(times.statusMs - times.summaryMs);
      const shown = `summary ${Math.round(times.summaryMs)} ms, .status ${Math.round(times.statusMs)} ms`;
      ports.progress(`flip ${round + 1} of ${rounds}: ${shown}`);
    }
  } finally {
    api.close();
  }
  const seconds = (ms: number[]) => median(ms) / 1_000;
  return [
    { name: 'all pods flip: the summary of the placement is exact', value: seconds(summaryMs), unit: 's' },
    { name: 'all pods flip: the .status of all objects is exact', value: seconds(statusMs), unit: 's' },
    {
      name: 'all pods flip: the .status after the summary',
      value: seconds(lateMs),
      unit: 's',
      goal: { of: 'value', is: '≤', bound: 1 },
    },
    { name: 'the same, the longest of all flips', value: Math.max(...lateMs) / 1_000, unit: 's' },
  ];
}

async function flip(api: NodeApiClient, ports: FlipPorts, available: number) {
  const { space, deployments, placement, clusters, processes } = ports;
  const startMs = performance.now();
  const since = () => performance.now() - startMs;
  const flipped = Promise.all(processes.map((child) => ask(child, { available } satisfies FleetFlip)));
  const summaryMs = async () => {
    const expected = available === replicas ? clusters : 0;
    const present = async () => [(await api.get(space, placement)) as Placed];
    await until(present, (status) => status?.summary?.available === expected);
    return since();
  };
  const statusMs = async () => {
    const present = async () => (await api.list(space, deployments)) as Placed[];
    await until(present, (status) => shows(status, available * clusters, replicas * clusters));
    return since();
  };
  const [toSummary, toStatus] = await Promise.all([summaryMs(), statusMs(), flipped]);
  return { summaryMs: toSummary, statusMs: toStatus };
}

interface Status {
  readonly summary?: { readonly available?: number };
  readonly conditions?: readonly { readonly type: string; readonly message: string }[];
}
interface Placed extends KubeObject {
  readonly status?: Status;
}

/** The message of the condition has the sums of all clusters; the counts are those of the worst cluster. */
function shows(status: Status | undefined, available: number, all: number): boolean {
  const message = status?.conditions?.find(({ type }) => type === 'Available')?.message ?? '';
  return message.includes(`${available} of ${all} replicas are available`);
}

async function until(
  present: () => Promise<Placed[]>,
  isExact: (status: Status | undefined) => boolean,
): Promise<void> {
  const untilMs = performance.now() + withinMs;
  for (;;) {
    const inexact = (await present()).find(({ status }) => !isExact(status));
    if (!inexact) return;
    if (performance.now() > untilMs) {
      const { metadata, status } = inexact;
      throw new Error(`${metadata.name} is not exact within ${withinMs / 1_000} s: ${JSON.stringify(status)}`);
    }
    await new Promise((done) => setTimeout(done, lookEveryMs));
  }
}
