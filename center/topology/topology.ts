/** The types of a topology. */

import type { TopologyAudit } from '../../core/audit/audit-config.ts';
import type { FrontProxyConfig } from '../../core/authentication/front-proxy.ts';
import type { TopologyEncryption } from '../../core/encryption/encryption-config.ts';
import type { Limits } from '../../core/entries/deletion-guard.ts';
import type { Issued } from '../../core/identity/certificate-validity.ts';
import type { SubtreeClaims } from '../../core/match/claims.ts';
import type { AcceptRule, ConfiguredSpace } from '../../core/match/delivery-config.ts';
import type { EgressOptions } from '../../core/runtime/egress.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import type { LinkOptions } from '../../core/wire/dialer/link-options.ts';

export interface Topology {
  readonly name: string;
  readonly center: TopologyCenter;
  readonly relays: readonly TopologyRelay[];
  readonly clusters: readonly TopologyCluster[];
  readonly logs?: LogRotation | undefined;
}

export interface TopologyCenter {
  readonly labels: Record<string, string>;
  readonly spaces: readonly TopologySpace[];
  readonly listen?: Listen | undefined;
  readonly issuer?: Issued | undefined;
  readonly limits?: Limits | undefined;
  readonly egress?: EgressOptions | undefined;
  readonly authentication?: TopologyAuthentication | undefined;
  readonly frontProxy?: FrontProxyConfig | undefined;
  readonly audit?: TopologyAudit | undefined;
  readonly encryption?: TopologyEncryption | undefined;
  readonly deploy?: NodeDeployment | undefined;
}

/** The way in which a node is installed elsewhere: by the chart on Kubernetes, or by systemd on a machine. `banyan up` runs every node here. */
export interface TopologyDeployment {
  readonly as: 'chart' | 'machine';
}

export interface NodeDeployment extends TopologyDeployment {
  /** The DNS names and IP addresses of the API. Children reach the node at the first one. */
  readonly names: readonly string[];
}

/** Where a node listens. Default: a free port of 127.0.0.1. */
export interface Listen {
  readonly host: string;
  readonly apiPort?: number | undefined;
  readonly meshPort?: number | undefined;
  readonly terminatedTls: boolean;
}

/** The way of a node to its parent. */
export interface TopologyLink extends LinkOptions {
  /** host:port to dial. Absent: the address where the parent listens. */
  readonly endpoint?: string | undefined;
}

export type TopologySpace = Readonly<ConfiguredSpace>;

export interface TopologyRelay {
  readonly name: string;
  /** Path of the parent. Empty: the center. */
  readonly parent: string;
  readonly labels: Record<string, string>;
  readonly spaces: readonly TopologySpace[];
  readonly link?: TopologyLink | undefined;
  /** Number of processes with this path. Each is a complete copy. A child is attached to one of them. */
  readonly replicas: number;
  readonly listen?: Listen | undefined;
  readonly issuer?: Issued | undefined;
  readonly limits?: Limits | undefined;
  readonly egress?: EgressOptions | undefined;
  readonly authentication?: TopologyAuthentication | undefined;
  readonly frontProxy?: FrontProxyConfig | undefined;
  readonly audit?: TopologyAudit | undefined;
  readonly encryption?: TopologyEncryption | undefined;
  readonly access?: TopologyAccess | undefined;
  readonly claims?: SubtreeClaims | undefined;
  readonly quota?: TopologyQuota | undefined;
  readonly deploy?: NodeDeployment | undefined;
}

/** Bounds of the state that a node may report to its parent. */
export interface TopologyQuota {
  readonly entries?: number | undefined;
  readonly bytes?: number | undefined;
}

/** The file is relative to the topology's folder. */
export interface TopologyAuthentication {
  readonly file: string;
}

/** Rights of users whom other nodes have authenticated. */
export interface TopologyAccess {
  readonly fromAbove: string;
  /** Only for a cluster: who may read the metrics of its agent. */
  readonly metrics?: readonly string[] | undefined;
}

export interface TopologyCluster {
  readonly name: string;
  readonly parent: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly properties: Record<string, string>;
  readonly provider: TopologyProvider;
  readonly link?: TopologyLink | undefined;
  readonly limits?: Limits | undefined;
  readonly audit?: TopologyAudit | undefined;
  readonly encryption?: TopologyEncryption | undefined;
  readonly access?: TopologyAccess | undefined;
  readonly quota?: TopologyQuota | undefined;
  readonly accept?: readonly AcceptRule[] | undefined;
  /** Absent: by the chart if the provider is a kubeconfig, otherwise on a machine. */
  readonly deploy?: TopologyDeployment | undefined;
}

/** Where the cluster is. */
export interface TopologyProvider {
  readonly embedded?: object | undefined;
  readonly kubeconfig?: TopologyKubeconfig | undefined;
}

export interface TopologyKubeconfig {
  /** Path of the file, relative to the topology's folder. */
  readonly path: string;
  readonly context?: string | undefined;
  readonly uid?: string | undefined;
}

/** The files that are checked before a node starts, because a node with such a file ends at its start. */
export type FileContent = 'auditPolicy' | 'authentication';

/** Returns the problem of a file that the topology names. Undefined: there is none. `content`: the form that the file has to have. Absent: any form. */
export type NamedFileCheck = (file: string, content?: FileContent) => string | undefined;
