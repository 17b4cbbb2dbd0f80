// Loaded into every process of a tree by NODE_OPTIONS. The product has no switches for these faults: the source of four modules is changed when it is loaded.
import { registerHooks } from 'node:module';
import { sourceChanges, staleChanges } from './poison-changes.ts';

// A process that does not load one of these files would be unchanged, and a test of it would only time out.
const stale = staleChanges();
if (stale.length > 0) throw new Error(`poison-changes.ts is out of date: ${stale.join('; ')}`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const [, changes] = Object.entries(sourceChanges).find(([file]) => url.endsWith(`/${file}`)) ?? [];
    if (!changes) return loaded;
    let source = loaded.source.toString();
    for (const [before, after] of changes) source = source.replace(before, after);
    return { ...loaded, source };
  },
});
