/** A kubeconfig that a person takes to another machine. */
import { readFileSync } from 'node:fs';
import type { Kubeconfig } from '../../core/kubeconfig/kubeconfig.ts';

/** Files of authorities become a part of the kubeconfig, because another machine does not have them. */
export function portableKubeconfig({ clusters, ...config }: Kubeconfig): object {
  const inline = clusters.map(({ name, cluster: { 'certificate-authority': file, ...cluster } }) => ({
    name,
    cluster:
      file === undefined || cluster['certificate-authority-data'] !== undefined
        ? cluster
        : { ...cluster, 'certificate-authority-data': readFileSync(file).toString('base64') },
  }));
  return { apiVersion: 'v1', kind: 'Config', clusters: inline, ...config };
}
