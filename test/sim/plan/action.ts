/** The action of a step. It is data only, so that steps can be left out one by one. */
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

/** `has`: the label has this value; otherwise it does not. */
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
  /** Only objects with this label. */
  readonly only?: Labels;
}

export interface PlannedObject {
  readonly kind: 'ConfigMap' | 'Deployment';
  readonly namespace: string;
  readonly name: string;
  readonly value: string;
  readonly labels: Labels;
  /** Bytes of content beside the value. */
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
  /** Only in the inventory of its parent, and in no topology. */
  | { readonly do: 'label'; readonly node: string; readonly labels: Labels }
  /** An object that somebody at the site makes on the cluster of an agent. */
  | { readonly do: 'bear' | 'bury'; readonly node: string; readonly object: KubeObject }
  /** A person approves, at the node `at`, the deletion of the rows that the node holds. */
  | { readonly do: 'release'; readonly node: string; readonly at: string }
  | { readonly do: 'leave' | 'join'; readonly node: string }
  | { readonly do: 'talk'; readonly node: string; readonly to: string; readonly talk: PlannedTalk }
  /** The mailbox of a child, by the child's name below the node. */
  | { readonly do: 'watch'; readonly node: string; readonly child: string }
  /** Removes an agent from the inventory while it runs, and adds it again. */
  | { readonly do: 'unlist' | 'list'; readonly node: string }
  /** An agent becomes another node below another parent, and takes its disk along. */
  | { readonly do: 'move'; readonly node: string; readonly to: string };

/** On the line to one of several parents, by its number; absent: on all lines. */
interface OnWay {
  readonly way?: number;
}

/** Faults. Nodes are named by their path, with the number of a replica. */
export type Fault =
  | { readonly do: 'crash'; readonly node: string; readonly afterEffects: number }
  | { readonly do: 'stop' | 'start'; readonly node: string }
  /** An orderly end, like SIGTERM. `stays`: the node stays down until a `start`. */
  | { readonly do: 'end'; readonly node: string; readonly stays?: boolean }
  /** A new certificate with this lifetime; absent: longer than a run. The former certificate counts until the node's next dial or connection. */
  | { readonly do: 'certify'; readonly node: string; readonly validMs?: number }
  | { readonly do: 'empty' | 'backup' | 'restore'; readonly node: string }
  /** `hangup`: the child's end is closed, and bytes in flight arrive. */
  | ({ readonly do: 'reset' | 'hangup' | 'cut' | 'mend'; readonly node: string } & OnWay)
  | ({ readonly do: 'silence'; readonly node: string; readonly child: boolean; readonly parent: boolean } & OnWay)
  | ({ readonly do: 'slow'; readonly node: string; readonly delayMaxMs: number; readonly bufferBytes: number } & OnWay)
  | { readonly do: 'thin'; readonly node: string; readonly bytesPerSecond: number }
  | { readonly do: 'double'; readonly node: string; readonly share: number }
  | { readonly do: 'fill' | 'tidy'; readonly node: string }
  /** Flushes take at least this time. */
  | { readonly do: 'drag'; readonly node: string; readonly flushMs: number }
  | { readonly do: 'jump'; readonly node: string; readonly ms: number }
  /** `atLimits`: includes rare lies, and those that cost much. */
  | { readonly do: 'lie'; readonly node: string; readonly chance: number; readonly atLimits?: boolean }
  | { readonly do: 'truth'; readonly node: string }
  | { readonly do: 'clone' | 'unclone'; readonly node: string };

export type Action = Work | Fault;

export interface Step {
  readonly atMs: number;
  readonly action: Action;
}

/** Steps of a phase lie within this time. */
export const spanMs = 40_000;
