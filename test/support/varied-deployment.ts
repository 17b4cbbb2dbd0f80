/** A Deployment with lists of each kind that server-side apply knows: items with one key, with two keys, with no key, and an atomic list. */
import type { KubeObject } from '../../core/object/meta.ts';

export const variedDeployment = (namespace: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', namespace, labels: { team: 'tills' }, annotations: { note: 'a' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'till' } },
    template: {
      metadata: { labels: { app: 'till' } },
      spec: {
        containers: [
          {
            name: 'app',
            image: 'till:1',
            args: ['--fast', '--loud'],
            ports: [
              { containerPort: 80, protocol: 'TCP' },
              { containerPort: 81, protocol: 'UDP' },
            ],
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '2' },
            ],
          },
          { name: 'log', image: 'log:1' },
        ],
        tolerations: [{ key: 'edge', operator: 'Exists' }],
      },
    },
  },
});
