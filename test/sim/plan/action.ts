/** What a step does: data only, so that steps can be left out one by one. */
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

/** `has`: the label has this value; otherwise it has not. */
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

/** What people do. */
export type Work =
  | { readonly do: 'put'; readonly source: string; readonly object: PlannedObject }
  | {
      readonly do: 'delete';
      readonly source: string;
      readonly object: Pick<PlannedObject, 'kind' | 'namespace' | 'name'>;
    }
  | { readonly do: 'place'; readonly source: string; readonly placement: PlannedPlacement }
  | { readonly do: 'unplace'; readonly source: string; readonly name: string }
  // Whole objects, of which a theme of the workload knows more (rollouts.ts and its neighbours).
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
  /** In the inventory of its parent alone, and in no topology. */
  | { readonly do: 'label'; readonly node: string; readonly labels: Labels }
  /** An object of somebody's own at the cluster of an agent. */
  | { readonly do: 'bear' | 'bury'; readonly node: string; readonly object: KubeObject }
  /** What the node `at` shows to be held at a node may go. */
  | { readonly do: 'release'; readonly node: string; readonly at: string }
  | { readonly do: 'leave' | 'join'; readonly node: string }
  | { readonly do: 'talk'; readonly node: string; readonly to: string; readonly talk: PlannedTalk }
  /** The mailbox of a child, by its name below the node. */
  | { readonly do: 'watch'; readonly node: string; readonly child: string }
  /** From the inventory, while it runs; and into it again. */
  | { readonly do: 'unlist' | 'list'; readonly node: string }
  /** An agent becomes another node below another parent, with the disk that it has. */
  | { readonly do: 'move'; readonly node: string; readonly to: string };

/** On the way to one of several parents, by its number; absent: to all. */
interface OnWay {
  readonly way?: number;
}

/** What goes wrong. Nodes are named by their path, with their number if they have siblings. */
export type Fault =
  | { readonly do: 'crash'; readonly node: string; readonly afterEffects: number }
  | { readonly do: 'stop' | 'start'; readonly node: string }
  /** In order, as by SIGTERM. `stays`: nobody starts it again before a `start`. */
  | { readonly do: 'end'; readonly node: string; readonly stays?: boolean }
  /** A new certificate, valid for so long; absent: for longer than a run. What it had before counts until it dials, or is dialled, again. */
  | { readonly do: 'certify'; readonly node: string; readonly validMs?: number }
  | { readonly do: 'empty' | 'backup' | 'restore'; readonly node: string }
  /** `hangup`: the child's end goes, what is under way arrives. */
  | ({ readonly do: 'reset' | 'hangup' | 'cut' | 'mend'; readonly node: string } & OnWay)
  | ({ readonly do: 'silence'; readonly node: string; readonly child: boolean; readonly parent: boolean } & OnWay)
  | ({ readonly do: 'slow'; readonly node: string; readonly delayMaxMs: number; readonly bufferBytes: number } & OnWay)
  | { readonly do: 'thin'; readonly node: string; readonly bytesPerSecond: number }
  | { readonly do: 'double'; readonly node: string; readonly share: number }
  | { readonly do: 'fill' | 'tidy'; readonly node: string }
  /** Flushes take at least so long. */
  | { readonly do: 'drag'; readonly node: string; readonly flushMs: number }
  | { readonly do: 'jump'; readonly node: string; readonly ms: number }
  /** `atLimits`: also lies that few tell, or that cost much. */
  | { readonly do: 'lie'; readonly node: string; readonly chance: number; readonly atLimits?: boolean }
  | { readonly do: 'truth'; readonly node: string }
  | { readonly do: 'clone' | 'unclone'; readonly node: string };

export type Action = Work | Fault;

export interface Step {
  readonly atMs: number;
  readonly action: Action;
}

/** Steps of a phase lie within this. */
export const spanMs = 40_000;
