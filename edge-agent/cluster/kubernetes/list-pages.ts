/** Lists objects in pages. If a page is larger than the memory limit, because the objects are large, the pages become smaller. */
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { ClusterApiRequest } from './api-client.ts';

/** The page size of client-go. A page of ordinary objects has a few megabytes. */
const pageSizeMax = 500;
/** Divides the page size after a page that was too large. The agent read that page for nothing, so the next page is much smaller. */
const smallerBy = 4;

export interface ListPage {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  /** Null in an empty list with metadata only. */
  readonly items?: readonly KubeObject[] | null;
}

export class ListPages {
  readonly #json: (asked: ClusterApiRequest) => Promise<unknown>;
  /** The present page size. It stays small: if objects were too large once, they are too large the next time. */
  #size = pageSizeMax;

  constructor(json: (asked: ClusterApiRequest) => Promise<unknown>) {
    this.#json = json;
  }

  async *of(asked: ClusterApiRequest): AsyncGenerator<ListPage> {
    let next: string | undefined;
    do {
      const page = await this.#page(asked, next);
      yield page;
      next = page.metadata?.continue;
    } while (next);
  }

  async #page(asked: ClusterApiRequest, next: string | undefined): Promise<ListPage> {
    for (;;) {
      const query = { ...asked.query, limit: String(this.#size), ...(next ? { continue: next } : {}) };
      try {
        return (await this.#json({ ...asked, query })) as ListPage;
      } catch (error) {
        if (!(error instanceof BanyanError) || error.code !== 'TooLarge' || this.#size === 1) throw error;
        this.#size = Math.max(1, Math.floor(this.#size / smallerBy));
      }
    }
  }
}
