/**
 * Returns what a node still has to receive before it may send anything that could take away objects of a child. It is a pure function: each of the other rooms
 * returns, as a message, what is missing in that room.
 */
export interface MissingFromChildPorts {
  /** True: this node has replicas. */
  readonly hasReplicas: boolean;
  /** Returns whether this run of the process has received everything that the parent had. True if there is no parent. */
  hasReceivedFromParent(): boolean;
  parentHasReplicas(): boolean;
  /** Returns a message that names a release which the child was handed and which this node has not received yet. Undefined: there is none. */
  releases(child: string): string | undefined;
  /** Returns a message that names a source of which the child has received more than this node. Undefined: there is none. */
  childAhead(child: string): string | undefined;
  /** Returns whether everything that matches the labels at the child has arrived at this node. */
  isMatched(child: string): boolean;
}

/** Returns a message that names what is missing. Undefined: nothing is missing. */
export function missingFromChild(ports: MissingFromChildPorts, child: string): string | undefined {
  if (ports.hasReplicas) return ports.releases(child) ?? unmatched(ports, child);
  if (!ports.hasReceivedFromParent()) return "this node has not yet received its parent's feed";
  // After a loss of its store, this node may have attached to another replica of the parent. That replica may have received less than the earlier replica sent.
  // Or it knows older labels of the Locations below this node, and has not sent the objects that match only the newer labels.
  if (!ports.parentHasReplicas()) return undefined;
  return ports.childAhead(child) ?? unmatched(ports, child);
}

function unmatched(ports: MissingFromChildPorts, child: string): string | undefined {
  if (ports.isMatched(child)) return undefined;
  return 'the parent has received the labels and has not yet sent all objects that match';
}
