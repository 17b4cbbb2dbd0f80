/** The text of a kubeconfig that a person takes to another machine. */
import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { Kubeconfig } from '../../core/kubeconfig/kubeconfig.ts';

/** Files of authorities are written into the text, because another machine does not have them. */
export function printedKubeconfig({ clusters, ...config }: Kubeconfig): string {
  const inline = clusters.map(({ name, cluster: { 'certificate-authority': file, ...cluster } }) => ({
    name,
    cluster:
      file === undefined || cluster['certificate-authority-data'] !== undefined
        ? cluster
        : { ...cluster, 'certificate-authority-data': readFileSync(file).toString('base64') },
  }));
  return stringify({ apiVersion: 'v1', kind: 'Config', clusters: inline, ...config }, { aliasDuplicateObjects: false });
}
