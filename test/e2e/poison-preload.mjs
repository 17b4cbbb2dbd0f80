// Loaded into every process of a tree by NODE_OPTIONS: an embedded cluster that dies, later and of nobody's catching, when it is given an object named "deadly"
// whose data say so. The product has no switch for that: the source of one module is changed as it is loaded.
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/edge-agent/apply/mark.ts')) return loaded;
    const source = loaded.source
      .toString()
      .replace(
        /export function marked\(([a-z]+): KubeObject[^{]*\{/,
        (head, object) =>
          `${head} if (${object}.metadata.name === 'deadly' && ${object}.data?.dies === 'yes') setTimeout(() => { throw new Error('the cluster died of it'); });`,
      );
    return { ...loaded, source };
  },
});
