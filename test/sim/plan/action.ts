/** The action of a step. It is only data, so that steps can be left out one by one. */
import type { KubeObject } from '../../../core/object/meta.ts';
import type { PlannedTalk } from './talk.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

/** `has` true: the label has this value. False: it does not. */
export interface Expression {
  readonly key: string;
  readonly value: string;
  readonly has: boolean;
}

export interface PlannedPlacement {
  readonly name: string;
  readonly selectors: readonly Selector[];
  readonly expression?: Expression;
  readonly namespaces: readonly string[];
  readonly resources: readonly string[];
  /** Only objects with this label match. */
  readonly only?: Labels;
}

export interface PlannedObject {
  readonly kind: 'ConfigMap' | 'Deployment';
  readonly namespace: string;
  readonly name: string;
  readonly value: string;
  readonly labels: Labels;
  /** Bytes of content in addition to the value. */
  readonly padding?: number;
}

/** Actions of people. */
export type Work =
  | { readonly do: 'put'; readonly source: string; readonly object: PlannedObject }
  | {
      readonly do: 'delete';
      readonly source: string;
      readonly object: Pick<PlannedObject, 'kind' | 'namespace' | 'name'>;
    }
  | { readonly do: 'place'; readonly source: string; readonly placement: PlannedPlacement }
  | { readonly do: 'unplace'; readonly source: string; readonly name: string }
  // Whole objects that a theme of the workload defines (rollouts.ts and similar files).
  | { readonly do: 'apply'; readonly source: string; readonly objects: readonly KubeObject[] }
  | { readonly do: 'remove'; readonly source: string; readonly object: KubeObject }
  | {
      readonly do: 'answer';
      readonly source: string;
      readonly gate: string;
      readonly phase: 'Passed' | 'Waiting' | 'Failed';
    }
  | { readonly do: 'describe'; readonly node: string; readonly properties: Labels; readonly annotations: Labels }
  | { readonly do: 'relabel'; readonly node: string; readonly labels: Labels }
  /** Changes the labels only in the inventory of the node's parent. No topology has them. */
  | { readonly do: 'label'; readonly node: string; readonly labels: Labels }
  /** Somebody at the site creates or deletes an object on the cluster of an agent. */
  | { readonly do: 'bear' | 'bury'; readonly node: string; readonly object: KubeObject }
  /** A person at the node `at` approves the deletion of the rows that `node` holds. */
  | { readonly do: 'release'; readonly node: string; readonly at: string }
  | { readonly do: 'leave' | 'join'; readonly node: string }
  | { readonly do: 'talk'; readonly node: string; readonly to: string; readonly talk: PlannedTalk }
  /** Somebody watches the mailbox of a child. `child`: the child's name below the node. */
  | { readonly do: 'watch'; readonly node: string; readonly child: string }
  /** Removes an agent from the inventory while it runs, and adds it again. */
  | { readonly do: 'unlist' | 'list'; readonly node: string }
  /** An agent becomes another node below another parent, and keeps its disk. */
  | { readonly do: 'move'; readonly node: string; readonly to: string };

/** `way`: the number of the replica whose line the fault concerns. Absent: all lines. */
interface OnWay {
  readonly way?: number;
}

/** Faults. A node is named by its path and the number of its replica. */
export type Fault =
  | { readonly do: 'crash'; readonly node: string; readonly afterEffects: number }
  | { readonly do: 'stop' | 'start'; readonly node: string }
  /** Ends the process properly, like SIGTERM. `stays`: the node does not run until a `start`. */
  | { readonly do: 'end'; readonly node: string; readonly stays?: boolean }
  /** Gives the node a new certificate with this lifetime. Absent: longer than a run. The old certificate counts until the node's next dial or connection. */
  | { readonly do: 'certify'; readonly node: string; readonly validMs?: number }
  | { readonly do: 'empty' | 'backup' | 'restore'; readonly node: string }
  /** `hangup`: the child's end is closed, and bytes in flight still arrive. */
  | ({ readonly do: 'reset' | 'hangup' | 'cut' | 'mend'; readonly node: string } & OnWay)
  | ({ readonly do: 'silence'; readonly node: string; readonly child: boolean; readonly parent: boolean } & OnWay)
  | ({ readonly do: 'slow'; readonly node: string; readonly delayMaxMs: number; readonly bufferBytes: number } & OnWay)
  | { readonly do: 'thin'; readonly node: string; readonly bytesPerSecond: number }
  | { readonly do: 'double'; readonly node: string; readonly share: number }
  | { readonly do: 'fill' | 'tidy'; readonly node: string }
  /** Flushes need at least this time. */
  | { readonly do: 'drag'; readonly node: string; readonly flushMs: number }
  | { readonly do: 'jump'; readonly node: string; readonly ms: number }
  /** `atLimits`: the liar also plays rare lies, and lies that cost much time. */
  | { readonly do: 'lie'; readonly node: string; readonly chance: number; readonly atLimits?: boolean }
  | { readonly do: 'truth'; readonly node: string }
  | { readonly do: 'clone' | 'unclone'; readonly node: string };

export type Action = Work | Fault;

export interface Step {
  readonly atMs: number;
  readonly action: Action;
}

/** All steps of a phase are within this time. */
export const spanMs = 40_000;
