package io.streamsql.iceberg;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Loads Iceberg, and our classes that use it, where the first query needs them: they are not on the
 * class path, which is fixed when the JVM starts. What Iceberg needs beside its own jars (Parquet,
 * Avro, Jackson, Hadoop) is Spark's.
 */
final class LakeLoader extends URLClassLoader {
  private static final String OURS = Lake.class.getPackageName() + ".tables.";
  private static final String ICEBERGS = "org.apache.iceberg.";

  private static LakeLoader loader;
  private static Lake.Provider provider;

  private final Set<String> jars = new HashSet<>();

  static {
    registerAsParallelCapable();
  }

  private LakeLoader() {
    super("iceberg", new URL[0], Lake.class.getClassLoader());
  }

  /** While Iceberg is in use: it looks for its classes in the thread's class loader. */
  static final class Scope implements AutoCloseable {
    private final ClassLoader before = Thread.currentThread().getContextClassLoader();
    private final Lake.Provider provider;

    private Scope(Lake.Provider provider) {
      this.provider = provider;
      Thread.currentThread().setContextClassLoader(provider.getClass().getClassLoader());
    }

    Lake.Provider provider() {
      return provider;
    }

    @Override
    public void close() {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  /**
   * There is one loader, whose jars become more: Hadoop has objects of its own in static fields.
   */
  static synchronized Scope enter(List<String> jars) {
    try {
      if (loader == null) {
        loader = new LakeLoader();
        URI ours = Lake.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        loader.addURL(ours.toURL());
      }
      for (String jar : jars) {
        if (loader.jars.add(jar)) {
          loader.addURL(new File(jar).toURI().toURL());
        }
      }
      if (provider == null) {
        Class<?> found = Class.forName(OURS + "IcebergLakes", true, loader);
        provider = (Lake.Provider) found.getDeclaredConstructor().newInstance();
      }
      return new Scope(provider);
    } catch (ReflectiveOperationException | MalformedURLException | URISyntaxException e) {
      throw new IllegalStateException("Iceberg cannot be loaded from " + jars, e);
    }
  }

  /** Its own classes come first: those that need Iceberg are in our jar too, which has it not. */
  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (name.startsWith(OURS) || name.startsWith(ICEBERGS)) {
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? findClass(name) : loaded;
      }
    }
    return super.loadClass(name, resolve);
  }
}
