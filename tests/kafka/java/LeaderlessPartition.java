import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.server.common.KRaftVersion;

/** Prints where a broker looks for the leader of a partition without one, and of a deleted one. */
class LeaderlessPartition {
  private static final ListenerName LISTENER = new ListenerName("PLAINTEXT");

  public static void main(String[] args) {
    Uuid topic = Uuid.randomUuid();
    MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
    delta.replay(new TopicRecord().setName("t").setTopicId(topic));
    delta.replay(
        new PartitionRecord()
            .setTopicId(topic)
            .setPartitionId(0)
            .setReplicas(List.of(1))
            .setIsr(List.of(1))
            .setLeader(-1));
    KRaftMetadataCache cache = new KRaftMetadataCache(1, () -> KRaftVersion.LATEST_PRODUCTION);
    cache.setImage(delta.apply(MetadataProvenance.EMPTY));
    System.out.println(cache.getPartitionLeaderEndpoint("t", 0, LISTENER));
    System.out.println(cache.getPartitionLeaderEndpoint("deleted", 0, LISTENER));
  }
}
